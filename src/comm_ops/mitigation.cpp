#include "comm_ops/mitigation.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm_ops/assemble.hpp"
#include "comm_ops/groups.hpp"

namespace hawser::comm_ops {
namespace {

/// What the members of COMM say in an agreement about a flag.
Result<void> result_of(const Agreement::Decision& decision) {
  if (decision.failed.is_within(decision.acknowledged)) return {};
  return Error(
      ErrorClass::proc_failed,
      "members of the communicator have died, and not all others have acknowledged it; the "
      "flag is agreed upon all the same");
}

Result<void> wait_for(p2p::Engine& engine, const Result<Ref<Request>>& request) {
  if (!request.ok()) return request.error();
  engine.wait(**request);
  if ((*request)->error() != nullptr) return *(*request)->error();
  return {};
}

/// What a process contributes to the making of a communicator.
Agreement::Blob blob_of(const Numbers& numbers) { return {numbers.context, numbers.local_context}; }

Numbers numbers_of(const Agreement::Blob& blob) {
  return {static_cast<std::uint32_t>(blob[0]), static_cast<std::uint32_t>(blob[1])};
}

/// Those of GROUP, some of the MEMBERS who have decided, that live.
Side living(const Group& group, const Group& members, const Agreement::Decision& decision) {
  std::vector<Identity> left;
  Side side;
  for (int i = 0; i < group.size(); ++i) {
    const int rank = members.rank_of(group.member(i));
    if (decision.failed.has(rank)) continue;
    left.push_back(group.member(i));
    side.numbers.push_back(numbers_of(decision.blobs[static_cast<std::size_t>(rank)]));
  }
  side.group = Group::of_list(std::move(left));
  return side;
}

Result<Ref<Comm>> shrink_inter(const Side& ours, const Side& theirs, int rank,
                               const Heritage& heritage) {
  if (theirs.numbers.empty())
    return Error(ErrorClass::proc_failed,
                 "all processes of the remote group have died: nothing is left to shrink to but "
                 "the local group");
  Result<Ref<Comm>> local = make_local(ours, rank, heritage);
  if (!local.ok()) return local;
  return make_inter(std::move(*local), ours, theirs);
}

}  // namespace

Mitigation::Mitigation(p2p::Engine& engine, CommFactory& comms,
                       std::shared_ptr<core::CommRegistry> registry, const Identity& self,
                       std::uint32_t notified)
    : engine_(engine),
      comms_(comms),
      registry_(std::move(registry)),
      self_(self),
      agreements_(engine, self),
      notices_(engine, self, notified) {
  p2p::Backend& backend = engine_.backend();
  backend.set_active_handler(
      p2p::ActiveClass::revocation,
      [this](const Identity&, std::span<const std::byte> message) { on_revocation(message); });
  backend.set_active_handler(p2p::ActiveClass::agreement,
                             [this](const Identity& from, std::span<const std::byte> message) {
                               agreements_.on_message(from, message);
                             });
  backend.set_active_handler(p2p::ActiveClass::death,
                             [this](const Identity& from, std::span<const std::byte> message) {
                               notices_.on_message(from, message);
                             });
  backend.set_departure_handler([this](const p2p::Departure& departure) {
    agreements_.on_departure(departure.process);
    notices_.on_departure(departure);
  });
  registry_->on_born([this] { set_idle(false); });
  engine_.add_source(*this);
}

Mitigation::~Mitigation() {
  engine_.remove_source(*this);
  registry_->on_born(nullptr);
  p2p::Backend& backend = engine_.backend();
  backend.set_active_handler(p2p::ActiveClass::revocation, nullptr);
  backend.set_active_handler(p2p::ActiveClass::agreement, nullptr);
  backend.set_active_handler(p2p::ActiveClass::death, nullptr);
  backend.set_departure_handler(nullptr);
}

void Mitigation::revoke(Comm& comm) {
  const p2p::LaneLock lock(engine_);
  if (const auto revoked = registry_->revoke(comm.id())) spread(*revoked);
}

void Mitigation::on_revocation(std::span<const std::byte> message) {
  core::GlobalId id;
  if (message.size() != sizeof(id)) return;
  std::memcpy(&id, message.data(), sizeof(id));
  if (const auto revoked = registry_->revoke(id)) spread(*revoked);
}

void Mitigation::spread(const core::CommRegistry::Revoked& revoked) {
  engine_.refuse(revoked.contexts, p2p::Refusal::everything);
  const auto message = std::as_bytes(std::span(revoked.id));
  for (const Identity& member : revoked.members)
    if (member != self_ && !engine_.backend().is_gone(member))
      static_cast<void>(engine_.post(member, p2p::ActiveClass::revocation, message));
}

bool Mitigation::advance(p2p::UserCode /*user_code*/) {
  const p2p::LaneLock lock(engine_);
  set_idle(true);
  const core::CommRegistry::Born born = registry_->take_born();
  engine_.refuse(born.damaged, p2p::Refusal::collectives);
  for (const core::CommRegistry::Revoked& revoked : born.revoked) spread(revoked);
  return true;
}

Ref<Group> Mitigation::failed(const Comm& comm) const {
  return Group::of_list(registry_->failed_members(comm));
}

Ref<Group> Mitigation::acknowledged(const Comm& comm) const {
  const p2p::LaneLock lock(engine_);
  std::vector<Identity> members = registry_->failed_members(comm);
  members.resize(std::min(members.size(), comm.acknowledged_failures()));
  return Group::of_list(std::move(members));
}

int Mitigation::acknowledge(Comm& comm, int count) {
  const p2p::LaneLock lock(engine_);
  const std::size_t known = registry_->failed_members(comm).size();
  const std::size_t wanted = std::min(known, static_cast<std::size_t>(std::max(count, 0)));
  if (wanted > comm.acknowledged_failures()) {
    comm.acknowledge_failures(wanted);
    engine_.backend().on_acknowledged(comm);
  }
  return static_cast<int>(comm.acknowledged_failures());
}

void Mitigation::acknowledge_all(Comm& comm) {
  acknowledge(comm, comm.size() + (comm.is_inter() ? comm.peer_count() : 0));
}

Agreement::Contribution Mitigation::contribution_of(const Comm& comm, const Group& members) const {
  const int size = members.size();
  Agreement::Contribution contribution{~0U, {}, RankSet(size), RankSet(size)};
  std::vector<Identity> failed = registry_->failed_members(comm);
  failed.resize(std::min(failed.size(), comm.acknowledged_failures()));
  for (const Identity& process : failed) contribution.acknowledged.add(members.rank_of(process));
  return contribution;
}

Result<Ref<Request>> Mitigation::iagree(Comm& comm, int& flag) {
  const p2p::LaneLock lock(engine_);
  const Ref<Group> members = Agreements::members_of(comm);
  Agreement::Contribution contribution = contribution_of(comm, *members);
  contribution.value = static_cast<std::uint32_t>(flag);
  return agreements_.start(comm, members, std::move(contribution),
                           [&flag](const Agreement::Decision& decision) {
                             flag = static_cast<int>(decision.value);
                             return result_of(decision);
                           });
}

Result<void> Mitigation::agree(Comm& comm, int& flag) {
  return wait_for(engine_, iagree(comm, flag));
}

Result<Ref<Request>> Mitigation::ishrink(Comm& comm, std::function<void(Ref<Comm>)> result) {
  const p2p::LaneLock lock(engine_);
  const Ref<Group> members = Agreements::members_of(comm);
  Agreement::Contribution contribution = contribution_of(comm, *members);
  contribution.blob = blob_of(comms_.take_numbers(comm.is_inter()));
  return agreements_.start(comm, members, std::move(contribution),
                           [this, parent = Ref<Comm>::share(&comm), members,
                            result = std::move(result)](const Agreement::Decision& decision) {
                             return conclude_shrink(*parent, *members, decision, result);
                           });
}

Result<Ref<Comm>> Mitigation::shrink(Comm& comm) {
  Ref<Comm> shrunk;
  HAWSER_TRY(wait_for(engine_, ishrink(comm, [&](Ref<Comm> made) { shrunk = std::move(made); })));
  return shrunk;
}

Result<void> Mitigation::conclude_shrink(const Comm& parent, const Group& members,
                                         const Agreement::Decision& decision,
                                         const std::function<void(Ref<Comm>)>& result) const {
  const Side ours = living(parent.group(), members, decision);
  const int rank = ours.group->rank_of(self_);
  if (rank < 0)
    return Error(ErrorClass::proc_failed, "the others agree that this process has died");
  Result<Ref<Comm>> made = parent.is_inter()
                               ? shrink_inter(ours, living(parent.peer_group(), members, decision),
                                              rank, heritage_of(parent))
                               : make_intra(ours, rank, heritage_of(parent));
  if (!made.ok()) return made.take_error();
  result(std::move(*made));
  return {};
}

}  // namespace hawser::comm_ops
