#include "collective/select/perform.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/cache_line.hpp"
#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/inter.hpp"
#include "collective/select/tables.hpp"
#include "hostmem/pace.hpp"
#include "platform/clock.hpp"

namespace hawser::collective {
namespace {

/// TEAM: whose board the call can be carried out on; null: there is none.
template <class Executor>
Situation situation(const Executor& ex, Count bytes, const Team* team) {
  Situation now{.bytes = bytes, .ranks = ex.size()};
  if (team != nullptr) {
    now.in_team = true;
    now.reads_memory = team->can_read();
  } else {
    now.oversubscribed = ex.is_oversubscribed();
    now.peers_cost = ex.do_peers_cost();
  }
  return now;
}
template <class Executor>
Situation situation(const Executor& ex, Count bytes) {
  return situation(ex, bytes, ex.team());
}

/// Of a reduction. On a board whole items are combined: one for each member must fit.
template <class Executor, class Arguments>
Situation reduction(const Executor& ex, Count bytes, const Arguments& a) {
  const Team* const team = ex.team();
  const bool is_for_board = team != nullptr && is_contiguous(*a.type) &&
                            a.type->size() * ex.size() <= static_cast<Count>(team->room());
  Situation now = situation(ex, bytes, is_for_board ? team : nullptr);
  now.commutative = a.op->is_commutative();
  return now;
}

/// Where members don't know the lengths of each other's blocks. On a board they stand side by side:
/// a few bytes of one for each member must fit.
template <class Executor>
Situation of_unknown_lengths(const Executor& ex) {
  const Team* const team = ex.team();
  const std::size_t least = base::cache_line_bytes * static_cast<std::size_t>(ex.size());
  return situation(ex, 0, team != nullptr && team->room() >= least ? team : nullptr);
}

template <class Executor, class Arguments>
using Rules = std::span<const Rule<Executor, Arguments>>;

template <class Executor, class Arguments>
Rules<Executor, Arguments> rules_for(const Executor&, const Arguments&) {
  static constexpr auto rules = table<Executor>(For<Arguments>{});
  return rules;
}

template <class Executor, class Arguments>
void run_chosen(Executor& ex, const Arguments& a, const Situation& now) {
  const Rules<Executor, Arguments> rules = rules_for(ex, a);
  const auto* rule = choose(rules, now, a.algorithm);
  if (rule != nullptr) return rule->run(ex, a);
  std::string names;
  for (const auto& known : rules) names += fmt::format(" {}", known.algorithm);
  ex.fail(Error(ErrorClass::arg, fmt::format("there is no algorithm '{}' for this collective; "
                                             "known are:{}",
                                             a.algorithm, names)));
}

/// The same, where members may also read each other's memory: what is quicker is found out.
template <class Executor, class Arguments>
void run_quicker(Executor& ex, const Arguments& a, const Situation& now, Contested what) {
  Team* const team = now.in_team && now.reads_memory ? ex.team() : nullptr;
  if (team == nullptr || now.bytes < Team::contested_bytes_min || !a.algorithm.empty())
    return run_chosen(ex, a, now);
  Situation where_reading_pays = now;
  where_reading_pays.reading_pays = true;
  const Rules<Executor, Arguments> rules = rules_for(ex, a);
  const auto* const otherwise = choose(rules, now);
  const auto* const by_reading = choose(rules, where_reading_pays);
  if (by_reading == otherwise) return otherwise->run(ex, a);
  Contest& contest = team->contest(what, now.bytes);
  const Contest::Turn turn = contest.next();
  const std::uint64_t began_ns = turn.is_timed ? platform::monotonic_ns() : 0;
  (turn.reads ? by_reading : otherwise)->run(ex, a);
  if (turn.is_timed)
    contest.took(turn.reads,
                 hostmem::pace_of(size_of(now.bytes), platform::monotonic_ns() - began_ns));
  if (contest.is_over()) team->settle(contest);
}

// One overload per collective for intracommunicators, one for intercommunicators. Where a message
// is empty on all members there is nothing to do; a barrier is the exception.

template <class Executor>
void intra(Executor& ex, const BarrierArguments& a) {
  run_chosen(ex, a, situation(ex, 0));
}
template <class Executor>
void inter(Executor& ex, const BarrierArguments& a) {
  inter_barrier(ex, a);
}

template <class Executor>
void intra(Executor& ex, const BcastArguments& a) {
  const Count bytes = bytes_of(a.buffer);
  if (bytes > 0) run_quicker(ex, a, situation(ex, bytes), Contested::bcast);
}
template <class Executor>
void inter(Executor& ex, const BcastArguments& a) {
  inter_bcast(ex, a);
}

template <class Executor>
void intra(Executor& ex, const GatherArguments& a) {
  const Count bytes = ex.rank() == a.root ? bytes_of(a.receive) : bytes_of(a.send);
  if (bytes > 0) run_chosen(ex, a, situation(ex, bytes));
}
template <class Executor>
void inter(Executor& ex, const GatherArguments& a) {
  inter_gather(ex, a);
}

template <class Executor>
void intra(Executor& ex, const GathervArguments& a) {
  run_chosen(ex, a, of_unknown_lengths(ex));
}
template <class Executor>
void inter(Executor& ex, const GathervArguments& a) {
  inter_gatherv(ex, a);
}

template <class Executor>
void intra(Executor& ex, const ScatterArguments& a) {
  const Count bytes = ex.rank() == a.root ? bytes_of(a.send) : bytes_of(a.receive);
  if (bytes > 0) run_chosen(ex, a, situation(ex, bytes));
}
template <class Executor>
void inter(Executor& ex, const ScatterArguments& a) {
  inter_scatter(ex, a);
}

template <class Executor>
void intra(Executor& ex, const ScattervArguments& a) {
  run_chosen(ex, a, of_unknown_lengths(ex));
}
template <class Executor>
void inter(Executor& ex, const ScattervArguments& a) {
  inter_scatterv(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AllgatherArguments& a) {
  const Count bytes = bytes_of(a.receive);
  if (bytes > 0) run_quicker(ex, a, situation(ex, bytes), Contested::allgather);
}
template <class Executor>
void inter(Executor& ex, const AllgatherArguments& a) {
  inter_allgather(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AllgathervArguments& a) {
  Count items = 0;
  for (int rank = 0; rank < ex.size(); ++rank) items += a.counts[rank];
  const Count bytes = items * a.receive.type->size();
  if (bytes > 0) run_chosen(ex, a, situation(ex, bytes));
}
template <class Executor>
void inter(Executor& ex, const AllgathervArguments& a) {
  inter_allgatherv(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AlltoallArguments& a) {
  const Count bytes = bytes_of(a.receive);
  if (bytes > 0) run_quicker(ex, a, situation(ex, bytes), Contested::alltoall);
}
template <class Executor>
void inter(Executor& ex, const AlltoallArguments& a) {
  inter_alltoall(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AlltoallvArguments& a) {
  run_chosen(ex, a, of_unknown_lengths(ex));
}
template <class Executor>
void inter(Executor& ex, const AlltoallvArguments& a) {
  inter_alltoallv(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AlltoallwArguments& a) {
  run_chosen(ex, a, of_unknown_lengths(ex));
}
template <class Executor>
void inter(Executor& ex, const AlltoallwArguments& a) {
  inter_alltoallw(ex, a);
}

template <class Executor>
void intra(Executor& ex, const ReduceArguments& a) {
  const Count bytes = a.count * a.type->size();
  if (bytes > 0) run_quicker(ex, a, reduction(ex, bytes, a), Contested::reduce);
}
template <class Executor>
void inter(Executor& ex, const ReduceArguments& a) {
  inter_reduce(ex, a);
}

template <class Executor>
void intra(Executor& ex, const AllreduceArguments& a) {
  const Count bytes = a.count * a.type->size();
  if (bytes > 0) run_chosen(ex, a, reduction(ex, bytes, a));
}
template <class Executor>
void inter(Executor& ex, const AllreduceArguments& a) {
  inter_allreduce(ex, a);
}

template <class Executor>
void intra(Executor& ex, const ReduceScatterArguments& a) {
  Count items = 0;
  for (int rank = 0; rank < ex.size(); ++rank) items += a.counts[rank];
  const Count bytes = items * a.type->size();
  if (bytes > 0) run_quicker(ex, a, reduction(ex, bytes, a), Contested::reduce_scatter);
}
template <class Executor>
void inter(Executor& ex, const ReduceScatterArguments& a) {
  inter_reduce_scatter(ex, a);
}

// Equal counts; the array is read while the algorithm runs or is recorded, not later.
template <class Executor, class Function>
void with_equal_counts(Executor& ex, const ReduceScatterBlockArguments& a, Function function) {
  const std::vector<Count> counts(static_cast<std::size_t>(ex.size()), a.count);
  function(ReduceScatterArguments{.send = a.send,
                                  .receive = a.receive,
                                  .counts = {counts.data(), true},
                                  .type = a.type,
                                  .op = a.op,
                                  .in_place = a.in_place,
                                  .algorithm = a.algorithm});
}
template <class Executor>
void intra(Executor& ex, const ReduceScatterBlockArguments& a) {
  with_equal_counts(ex, a, [&](const ReduceScatterArguments& equal) { intra(ex, equal); });
}
template <class Executor>
void inter(Executor& ex, const ReduceScatterBlockArguments& a) {
  with_equal_counts(ex, a, [&](const ReduceScatterArguments& equal) { inter(ex, equal); });
}

template <class Executor>
void intra(Executor& ex, const ScanArguments& a) {
  const Count bytes = a.count * a.type->size();
  if (bytes > 0) run_chosen(ex, a, reduction(ex, bytes, a));
}
template <class Executor>
void intra(Executor& ex, const ExscanArguments& a) {
  const Count bytes = a.count * a.type->size();
  if (bytes > 0) run_chosen(ex, a, reduction(ex, bytes, a));
}
template <class Executor, class Arguments>
void inter(Executor& ex, const Arguments&) {
  ex.fail(Error(ErrorClass::comm,
                "the communicator is an intercommunicator, on which scans are not defined; an "
                "intracommunicator would be right"));
}

}  // namespace

template <class Executor, class Arguments>
void perform(Executor ex, const Arguments& arguments) {
  if (ex.comm().is_inter()) {
    inter(ex, arguments);
  } else {
    ex.seek_team();
    intra(ex, arguments);
  }
}

HAWSER_INSTANTIATE(perform, BarrierArguments)
HAWSER_INSTANTIATE(perform, BcastArguments)
HAWSER_INSTANTIATE(perform, GatherArguments)
HAWSER_INSTANTIATE(perform, GathervArguments)
HAWSER_INSTANTIATE(perform, ScatterArguments)
HAWSER_INSTANTIATE(perform, ScattervArguments)
HAWSER_INSTANTIATE(perform, AllgatherArguments)
HAWSER_INSTANTIATE(perform, AllgathervArguments)
HAWSER_INSTANTIATE(perform, AlltoallArguments)
HAWSER_INSTANTIATE(perform, AlltoallvArguments)
HAWSER_INSTANTIATE(perform, AlltoallwArguments)
HAWSER_INSTANTIATE(perform, ReduceArguments)
HAWSER_INSTANTIATE(perform, AllreduceArguments)
HAWSER_INSTANTIATE(perform, ReduceScatterArguments)
HAWSER_INSTANTIATE(perform, ReduceScatterBlockArguments)
HAWSER_INSTANTIATE(perform, ScanArguments)
HAWSER_INSTANTIATE(perform, ExscanArguments)

}  // namespace hawser::collective
