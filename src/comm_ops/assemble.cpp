#include "comm_ops/assemble.hpp"

#include <fmt/format.h>

#include <utility>

namespace hawser::comm_ops {
namespace {

// A frame's context field has two bits for the kind of traffic (p2p/protocol/wire.hpp).
constexpr std::uint32_t context_end = 1U << 30;

Result<std::vector<std::uint32_t>> contexts_of(const Side& side, std::uint32_t Numbers::*which) {
  std::vector<std::uint32_t> contexts;
  contexts.reserve(side.numbers.size());
  for (const Numbers& numbers : side.numbers) {
    if (numbers.*which == 0 || numbers.*which >= context_end) {
      return Error(ErrorClass::intern,
                   fmt::format("rank {} of the new communicator numbered it {}, which is not in "
                               "[1,{}); a process can make that many communicators in its life",
                               contexts.size(), numbers.*which, context_end));
    }
    contexts.push_back(numbers.*which);
  }
  return contexts;
}

/// Unique, since a process never uses a number twice: the first member and its number.
core::GlobalId id_of(const Identity& first, std::uint32_t context) {
  return {base::mix64(first.job ^ base::mix64(first.epoch)),
          (std::uint64_t{first.index} << 32) | context};
}

Result<Ref<Comm>> make_over(const Side& members, std::uint32_t Numbers::*which, int rank,
                            const Heritage& heritage) {
  Result<std::vector<std::uint32_t>> contexts = contexts_of(members, which);
  if (!contexts.ok()) return contexts.take_error();
  Comm::Description description;
  description.group = members.group;
  description.rank = rank;
  description.id = id_of(members.group->member(0), contexts->front());
  description.context = (*contexts)[static_cast<std::size_t>(rank)];
  description.contexts = core::ContextMap(std::move(*contexts));
  description.errhandler = heritage.errhandler;
  description.session = heritage.session;
  description.registry = heritage.registry;
  return base::make_ref<Comm>(std::move(description));
}

}  // namespace

Heritage heritage_of(const Comm& parent) {
  return {Ref<core::Errhandler>::share(&parent.errhandler()), parent.session(), parent.registry()};
}

Result<Ref<Comm>> make_intra(const Side& members, int rank, const Heritage& heritage) {
  return make_over(members, &Numbers::context, rank, heritage);
}

Result<Ref<Comm>> make_local(const Side& ours, int rank, const Heritage& heritage) {
  return make_over(ours, &Numbers::local_context, rank, heritage);
}

Result<Ref<Comm>> make_inter(Ref<Comm> local, const Side& ours, const Side& theirs) {
  Result<std::vector<std::uint32_t>> contexts = contexts_of(theirs, &Numbers::context);
  if (!contexts.ok()) return contexts.take_error();
  HAWSER_TRY(contexts_of(ours, &Numbers::context));
  const Identity our_first = ours.group->member(0);
  const Identity their_first = theirs.group->member(0);
  const Heritage heritage = heritage_of(*local);
  Comm::Description description;
  description.group = ours.group;
  description.remote_group = theirs.group;
  description.rank = local->rank();
  description.id = our_first < their_first ? id_of(our_first, ours.numbers.front().context)
                                           : id_of(their_first, contexts->front());
  description.context = ours.numbers[static_cast<std::size_t>(local->rank())].context;
  description.contexts = core::ContextMap(std::move(*contexts));
  description.local = std::move(local);
  description.errhandler = heritage.errhandler;
  description.session = heritage.session;
  description.registry = heritage.registry;
  return base::make_ref<Comm>(std::move(description));
}

Result<Ref<Comm>> make_child(const Comm& parent, const Side& ours, const Side& theirs, int rank) {
  if (!parent.is_inter()) return make_intra(ours, rank, heritage_of(parent));
  Result<Ref<Comm>> local = make_local(ours, rank, heritage_of(parent));
  if (!local.ok()) return local;
  return make_inter(std::move(*local), ours, theirs);
}

}  // namespace hawser::comm_ops
