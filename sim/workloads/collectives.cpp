// Every collective with random sizes, roots, layouts and algorithms, blocking or several at a time,
// against what the ranks' samples say it must give.
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "collective/collective.hpp"
#include "sim/workloads/workloads.hpp"
#include "tests/support/operations.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::sim {

namespace {

using namespace collective;  // NOLINT: this file is about nothing else
using test::Reduction;
using test::samples;
using test::TypedMemory;

/// One call as all ranks agreed upon it.
struct Call {
  std::size_t what;  // index in `calls`
  int root;
  std::size_t layout;
  std::size_t reduction;
  std::vector<Count> counts;  // for each rank; the first is that of all where there is but one
  std::string algorithm;
  bool in_place;
  bool nonblocking;
};

/// COUNTS one after the other, with a free item behind each.
class Blocks {
 public:
  explicit Blocks(const std::vector<Count>& counts) : counts_(counts.begin(), counts.end()) {
    for (const Count count : counts) {
      places_.push_back(static_cast<int>(span_));
      span_ += count + 1;
    }
  }
  [[nodiscard]] CountView counts() const { return {counts_.data(), false}; }
  [[nodiscard]] CountView places() const { return {places_.data(), false}; }
  [[nodiscard]] Count place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Count span() const { return span_; }

 private:
  std::vector<int> counts_;
  std::vector<int> places_;
  Count span_ = 0;
};

class Collectives final : public Workload {
 public:
  Collectives(Random& random, int ranks, const core::TypeTable&);
  void run(Rank& rank) override;

  const test::Layouts layouts;
  const std::vector<Reduction> reductions = test::reductions(layouts);
  std::vector<Call> calls;
};

/// One rank's calls.
class Caller {
 public:
  Caller(Rank& self, Collectives& program) : self_(self), program_(program) {}

  void play() {
    for (const Call& call : program_.calls) {
      make(call);
      self_.scheduler.maybe_pause(4);
      if (self_.random.one_in(3)) finish_one();
    }
    while (!pending_.empty()) finish_one();
  }
  static std::string_view name_of(std::size_t what);
  static std::size_t count();

 private:
  using Member = void (Caller::*)(const Call&);
  struct Form {
    std::string_view name;
    Member member;
  };
  static std::span<const Form> forms();

  struct Pending {
    std::string_view name;
    Ref<Request> request;
    std::function<bool()> is_right;
  };

  void make(const Call& call) {
    self_.doing("{}{}, algorithm '{}', root {}, {} items{}", call.nonblocking ? "i" : "",
                name_of(call.what), call.algorithm, call.root, call.counts[0],
                call.in_place ? ", in place" : "");
    (this->*forms()[call.what].member)(call);
  }

  template <class Arguments>
  using Blocking = Result<void> (*)(const DirectRunner&, Comm&, const Arguments&);
  template <class Arguments>
  using Nonblocking = Result<Ref<Request>> (*)(PlanRunner&, Comm&, const Arguments&);

  /// IS_RIGHT looks at the buffers, which it keeps alive, once the call is complete.
  template <class Arguments>
  void issue(const Call& call, Blocking<Arguments> blocking, Nonblocking<Arguments> nonblocking,
             Arguments arguments, std::function<bool()> is_right) {
    arguments.algorithm = call.algorithm;
    const std::string_view name = name_of(call.what);
    if (call.nonblocking) {
      auto request = self_.check(nonblocking(self_.process.plans(), *self_.world, arguments));
      pending_.push_back({name, std::move(request), std::move(is_right)});
      return;
    }
    self_.check(blocking(self_.process.blocking(), *self_.world, arguments));
    self_.check(is_right(), "{} gave a wrong result", name);
  }

  void finish_one() {
    if (pending_.empty()) return;
    const std::size_t i = self_.random.below(pending_.size());
    Pending done = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    self_.doing("wait for i{}", done.name);
    self_.wait(done.request);
    self_.check(done.is_right(), "i{} gave a wrong result", done.name);
  }

  using Memory = std::shared_ptr<TypedMemory>;
  [[nodiscard]] Datatype& type(const Call& call) const {
    return *program_.layouts.all()[call.layout];
  }
  static Memory memory(Datatype& type, Count items) {
    return std::make_shared<TypedMemory>(type, items);
  }
  /// ITEMS items of RANK from FIRST on.
  static std::vector<std::int32_t> data(Datatype& type, int rank, Count first, Count items) {
    const Count per_item = test::integers_per_item(type);
    return samples(rank, first * per_item, items * per_item);
  }
  static std::function<bool()> equal(Memory got, Memory wanted, Memory kept = nullptr) {
    return [got = std::move(got), wanted = std::move(wanted), kept = std::move(kept)] {
      return *got == *wanted;
    };
  }

  /// GOT begins with EXPECTED, and what lies between its items is as it was.
  static std::function<bool()> begins_with(Memory got, std::vector<std::int32_t> expected,
                                           Memory kept) {
    return [got = std::move(got), expected = std::move(expected), kept = std::move(kept)] {
      TypedMemory wanted = *got;
      wanted.write(0, expected);
      return wanted == *got;
    };
  }

  void call_barrier(const Call& call) {
    issue(call, barrier, ibarrier, BarrierArguments{}, [] { return true; });
  }
  void call_bcast(const Call& call) {
    Datatype& t = type(call);
    const Count items = call.counts[0];
    const Memory got = memory(t, items);
    const Memory wanted = memory(t, items);
    wanted->write(0, data(t, call.root, 0, items));
    if (self_.rank == call.root) *got = *wanted;
    issue(call, bcast, ibcast, BcastArguments{.buffer = got->buffer(), .root = call.root},
          equal(got, wanted));
  }
  void call_gather(const Call& call) { gather_blocks(call, false); }
  void call_gatherv(const Call& call) { gather_blocks(call, true); }
  void gather_blocks(const Call& call, bool varying);
  void call_scatter(const Call& call) { scatter_blocks(call, false); }
  void call_scatterv(const Call& call) { scatter_blocks(call, true); }
  void scatter_blocks(const Call& call, bool varying);
  void call_allgather(const Call& call) { allgather_blocks(call, false); }
  void call_allgatherv(const Call& call) { allgather_blocks(call, true); }
  void allgather_blocks(const Call& call, bool varying);
  void call_alltoall(const Call& call);
  void call_alltoallv(const Call& call);
  void call_alltoallw(const Call& call);
  /// Between ranks a and b go counts[a] * counts[b] % 7 items, so that both directions are equal
  /// and the call can be made in place.
  struct Exchange {
    Blocks blocks;
    Memory send, got, wanted;
  };
  [[nodiscard]] Exchange exchange(const Call& call) const;
  void call_reduce(const Call& call);
  void call_allreduce(const Call& call) {
    reduce_to_all<AllreduceArguments>(call, allreduce, iallreduce, self_.size - 1);
  }
  void call_reduce_scatter(const Call& call);
  void call_reduce_scatter_block(const Call& call);
  void call_scan(const Call& call) { reduce_to_all<ScanArguments>(call, scan, iscan, self_.rank); }
  void call_exscan(const Call& call) {
    reduce_to_all<ExscanArguments>(call, exscan, iexscan, self_.rank - 1);
  }
  /// The items of ranks 0 to LAST combined; with LAST -1 the receive buffer stays as it was.
  template <class Arguments>
  void reduce_to_all(const Call& call, Blocking<Arguments> blocking,
                     Nonblocking<Arguments> nonblocking, int last);

  [[nodiscard]] Count count_of(const Call& call, bool varying, int rank) const {
    return call.counts[varying ? static_cast<std::size_t>(rank) : 0];
  }
  [[nodiscard]] const Reduction& reduction(const Call& call) const {
    return program_.reductions[call.reduction];
  }
  /// This rank's items, or (if not FILLED) room for as many.
  Memory contribution(const Reduction& r, Count count, bool filled = true) {
    Memory made = memory(*r.type, count);
    if (filled) made->write(0, data(*r.type, self_.rank, 0, count));
    return made;
  }

  Rank& self_;
  Collectives& program_;
  std::deque<Pending> pending_;
};

void Caller::gather_blocks(const Call& call, bool varying) {
  Datatype& t = type(call);
  const bool is_root = self_.rank == call.root;
  std::vector<Count> counts;
  for (int rank = 0; rank < self_.size; ++rank) counts.push_back(count_of(call, varying, rank));
  const Blocks blocks(counts);
  const auto place = [&](int rank) { return varying ? blocks.place(rank) : rank * counts[0]; };
  const Count span = is_root ? (varying ? blocks.span() : self_.size * counts[0]) : 0;
  const Count mine = count_of(call, varying, self_.rank);
  const bool in_place = call.in_place && is_root;
  const Memory send = memory(t, mine);
  send->write(0, data(t, self_.rank, 0, mine));
  const Memory got = memory(t, span);
  const Memory wanted = memory(t, span);
  if (in_place) got->write(place(self_.rank), data(t, self_.rank, 0, mine));
  for (int rank = 0; is_root && rank < self_.size; ++rank)
    wanted->write(place(rank), data(t, rank, 0, counts[static_cast<std::size_t>(rank)]));
  if (varying) {
    issue(call, gatherv, igatherv,
          GathervArguments{.send = send->const_buffer(),
                           .receive = got->buffer(),
                           .counts = blocks.counts(),
                           .displacements = blocks.places(),
                           .root = call.root,
                           .in_place = in_place},
          equal(got, wanted, send));
  } else {
    issue(call, gather, igather,
          GatherArguments{.send = send->const_buffer(),
                          .receive = got->buffer(mine),
                          .root = call.root,
                          .in_place = in_place},
          equal(got, wanted, send));
  }
}

void Caller::scatter_blocks(const Call& call, bool varying) {
  Datatype& t = type(call);
  const bool is_root = self_.rank == call.root;
  std::vector<Count> counts;
  for (int rank = 0; rank < self_.size; ++rank) counts.push_back(count_of(call, varying, rank));
  const Blocks blocks(counts);
  const Count span = is_root ? (varying ? blocks.span() : self_.size * counts[0]) : 0;
  const Count mine = count_of(call, varying, self_.rank);
  const bool in_place = call.in_place && is_root;
  const Memory send = memory(t, span);
  for (int rank = 0; is_root && rank < self_.size; ++rank)
    send->write(varying ? blocks.place(rank) : rank * counts[0],
                data(t, rank, 0, counts[static_cast<std::size_t>(rank)]));
  const Memory got = memory(t, mine);
  const Memory wanted = memory(t, mine);
  if (!in_place) wanted->write(0, data(t, self_.rank, 0, mine));
  if (varying) {
    issue(call, scatterv, iscatterv,
          ScattervArguments{.send = send->const_buffer(),
                            .counts = blocks.counts(),
                            .displacements = blocks.places(),
                            .receive = got->buffer(),
                            .root = call.root,
                            .in_place = in_place},
          equal(got, wanted, send));
  } else {
    issue(call, scatter, iscatter,
          ScatterArguments{.send = send->const_buffer(mine),
                           .receive = got->buffer(),
                           .root = call.root,
                           .in_place = in_place},
          equal(got, wanted, send));
  }
}

void Caller::allgather_blocks(const Call& call, bool varying) {
  Datatype& t = type(call);
  std::vector<Count> counts;
  for (int rank = 0; rank < self_.size; ++rank) counts.push_back(count_of(call, varying, rank));
  const Blocks blocks(counts);
  const auto place = [&](int rank) { return varying ? blocks.place(rank) : rank * counts[0]; };
  const Count span = varying ? blocks.span() : self_.size * counts[0];
  const Count mine = count_of(call, varying, self_.rank);
  const Memory send = memory(t, mine);
  send->write(0, data(t, self_.rank, 0, mine));
  const Memory got = memory(t, span);
  const Memory wanted = memory(t, span);
  if (call.in_place) got->write(place(self_.rank), data(t, self_.rank, 0, mine));
  for (int rank = 0; rank < self_.size; ++rank)
    wanted->write(place(rank), data(t, rank, 0, counts[static_cast<std::size_t>(rank)]));
  if (varying) {
    issue(call, allgatherv, iallgatherv,
          AllgathervArguments{.send = send->const_buffer(),
                              .receive = got->buffer(),
                              .counts = blocks.counts(),
                              .displacements = blocks.places(),
                              .in_place = call.in_place},
          equal(got, wanted, send));
  } else {
    issue(
        call, allgather, iallgather,
        AllgatherArguments{
            .send = send->const_buffer(), .receive = got->buffer(mine), .in_place = call.in_place},
        equal(got, wanted, send));
  }
}

// Rank r sends items [peer * items, (peer + 1) * items) of its samples to `peer`.
void Caller::call_alltoall(const Call& call) {
  Datatype& t = type(call);
  const Count items = call.counts[0];
  const Memory send = memory(t, self_.size * items);
  const Memory got = memory(t, self_.size * items);
  const Memory wanted = memory(t, self_.size * items);
  send->write(0, data(t, self_.rank, 0, self_.size * items));
  if (call.in_place) *got = *send;
  for (int rank = 0; rank < self_.size; ++rank)
    wanted->write(rank * items, data(t, rank, self_.rank * items, items));
  issue(call, alltoall, ialltoall,
        AlltoallArguments{.send = send->const_buffer(items),
                          .receive = got->buffer(items),
                          .in_place = call.in_place},
        equal(got, wanted, send));
}

Caller::Exchange Caller::exchange(const Call& call) const {
  Datatype& t = type(call);
  std::vector<Count> counts;
  for (const Count count : call.counts)
    counts.push_back(count * call.counts[static_cast<std::size_t>(self_.rank)] % 7);
  const Blocks blocks(counts);
  const Count span = blocks.span();
  Exchange made{blocks, memory(t, span), memory(t, span), memory(t, span)};
  for (int rank = 0; rank < self_.size; ++rank) {
    const Count items = counts[static_cast<std::size_t>(rank)];
    made.send->write(blocks.place(rank), data(t, self_.rank, rank, items));
    if (call.in_place) made.got->write(blocks.place(rank), data(t, self_.rank, rank, items));
    made.wanted->write(blocks.place(rank), data(t, rank, self_.rank, items));
  }
  return made;
}

void Caller::call_alltoallv(const Call& call) {
  const Exchange e = exchange(call);
  issue(call, alltoallv, ialltoallv,
        AlltoallvArguments{.send = e.send->const_buffer(),
                           .send_counts = e.blocks.counts(),
                           .send_displacements = e.blocks.places(),
                           .receive = e.got->buffer(),
                           .receive_counts = e.blocks.counts(),
                           .receive_displacements = e.blocks.places(),
                           .in_place = call.in_place},
        equal(e.got, e.wanted, e.send));
}

void Caller::call_alltoallw(const Call& call) {
  const Exchange e = exchange(call);
  Datatype& t = type(call);
  std::vector<int> places;  // in bytes
  for (int rank = 0; rank < self_.size; ++rank)
    places.push_back(static_cast<int>(e.blocks.place(rank) * t.extent()));
  const std::vector<Datatype*> types(places.size(), &t);
  issue(call, alltoallw, ialltoallw,
        AlltoallwArguments{.send = e.send->data(),
                           .send_counts = e.blocks.counts(),
                           .send_displacements = {places.data(), false},
                           .send_types = types.data(),
                           .receive = e.got->data(),
                           .receive_counts = e.blocks.counts(),
                           .receive_displacements = {places.data(), false},
                           .receive_types = types.data(),
                           .in_place = call.in_place},
        equal(e.got, e.wanted, e.send));
}

void Caller::call_reduce(const Call& call) {
  const Reduction& r = reduction(call);
  const Count count = call.counts[0];
  const bool is_root = self_.rank == call.root;
  const bool in_place = call.in_place && is_root;
  const Memory send = contribution(r, count);
  const Memory got = contribution(r, count, in_place);
  const Memory wanted = contribution(r, count, false);
  if (is_root) wanted->write(0, r.expected(0, self_.size - 1, 0, count));
  issue(call, reduce, ireduce,
        ReduceArguments{.send = send->data(),
                        .receive = is_root ? got->data() : nullptr,
                        .count = count,
                        .type = r.type,
                        .op = r.op.get(),
                        .root = call.root,
                        .in_place = in_place},
        equal(got, wanted, send));
}

template <class Arguments>
void Caller::reduce_to_all(const Call& call, Blocking<Arguments> blocking,
                           Nonblocking<Arguments> nonblocking, int last) {
  const Reduction& r = reduction(call);
  const Count count = call.counts[0];
  const Memory send = contribution(r, count);
  const Memory got = contribution(r, count, call.in_place);
  const Memory wanted = memory(*r.type, count);
  *wanted = *got;
  if (last >= 0) wanted->write(0, r.expected(0, last, 0, count));
  issue(call, blocking, nonblocking,
        Arguments{.send = send->data(),
                  .receive = got->data(),
                  .count = count,
                  .type = r.type,
                  .op = r.op.get(),
                  .in_place = call.in_place},
        equal(got, wanted, send));
}

void Caller::call_reduce_scatter(const Call& call) {
  const Reduction& r = reduction(call);
  const Blocks blocks(call.counts);
  const Count total = std::accumulate(call.counts.begin(), call.counts.end(), Count{0});
  const Count begin =
      std::accumulate(call.counts.begin(), call.counts.begin() + self_.rank, Count{0});
  const Count mine = count_of(call, true, self_.rank);
  const Memory send = contribution(r, total);
  // In place the receive buffer holds the whole input; what lies behind the result is undefined.
  const Memory got = call.in_place ? contribution(r, total) : memory(*r.type, mine);
  const auto expected = r.expected(0, self_.size - 1, begin, mine);
  issue(call, reduce_scatter, ireduce_scatter,
        ReduceScatterArguments{.send = send->data(),
                               .receive = got->data(),
                               .counts = blocks.counts(),
                               .type = r.type,
                               .op = r.op.get(),
                               .in_place = call.in_place},
        begins_with(got, expected, send));
}

void Caller::call_reduce_scatter_block(const Call& call) {
  const Reduction& r = reduction(call);
  const Count count = call.counts[0];
  const Memory send = contribution(r, count * self_.size);
  const Memory got = call.in_place ? contribution(r, count * self_.size) : memory(*r.type, count);
  const auto expected = r.expected(0, self_.size - 1, self_.rank * count, count);
  issue(call, reduce_scatter_block, ireduce_scatter_block,
        ReduceScatterBlockArguments{.send = send->data(),
                                    .receive = got->data(),
                                    .count = count,
                                    .type = r.type,
                                    .op = r.op.get(),
                                    .in_place = call.in_place},
        begins_with(got, expected, send));
}

std::span<const Caller::Form> Caller::forms() {
  static constexpr std::array table = {
      Form{"barrier", &Caller::call_barrier},
      Form{"bcast", &Caller::call_bcast},
      Form{"gather", &Caller::call_gather},
      Form{"gatherv", &Caller::call_gatherv},
      Form{"scatter", &Caller::call_scatter},
      Form{"scatterv", &Caller::call_scatterv},
      Form{"allgather", &Caller::call_allgather},
      Form{"allgatherv", &Caller::call_allgatherv},
      Form{"alltoall", &Caller::call_alltoall},
      Form{"alltoallv", &Caller::call_alltoallv},
      Form{"alltoallw", &Caller::call_alltoallw},
      Form{"reduce", &Caller::call_reduce},
      Form{"allreduce", &Caller::call_allreduce},
      Form{"reduce_scatter", &Caller::call_reduce_scatter},
      Form{"reduce_scatter_block", &Caller::call_reduce_scatter_block},
      Form{"scan", &Caller::call_scan},
      Form{"exscan", &Caller::call_exscan},
  };
  return table;
}
std::string_view Caller::name_of(std::size_t what) { return forms()[what].name; }
std::size_t Caller::count() { return forms().size(); }

Collectives::Collectives(Random& random, int ranks, const core::TypeTable&) {
  const int count = random.between(8, 30);
  for (int i = 0; i < count; ++i) {
    Call call{};
    call.what = random.below(Caller::count());
    call.root = random.between(0, ranks - 1);
    call.layout = random.below(layouts.all().size());
    call.reduction = random.below(reductions.size());
    const Count items_max = random.one_in(4) ? 3000 / ranks : 30;
    for (int rank = 0; rank < ranks; ++rank)
      call.counts.push_back(random.one_in(5) ? 0 : random.between<Count>(0, items_max));
    auto algorithms = algorithms_of(Caller::name_of(call.what));
    algorithms.emplace_back();
    call.algorithm = random.pick(algorithms);
    call.in_place = random.one_in(3);
    call.nonblocking = random.one_in(2);
    calls.push_back(std::move(call));
  }
}

void Collectives::run(Rank& rank) { Caller(rank, *this).play(); }

}  // namespace

std::unique_ptr<Workload> make_collectives(Random& random, int ranks,
                                           const core::TypeTable& types) {
  return std::make_unique<Collectives>(random, ranks, types);
}

}  // namespace hawser::sim
