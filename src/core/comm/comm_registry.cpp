#include "core/comm/comm_registry.hpp"

#include <algorithm>

namespace hawser::core {
namespace {

/// Calls USE(const Identity&) for each member of COMM, of both sides.
template <class Use>
void for_each_member(const Comm& comm, Use&& use) {
  const auto walk = [&](const Group& group) {
    for (int rank = 0; rank < group.size(); ++rank) use(group.member(rank));
  };
  walk(comm.group());
  if (comm.is_inter()) walk(comm.peer_group());
}

}  // namespace

bool CommRegistry::has_member(const Comm& comm, const Identity& process) {
  return comm.group().rank_of(process) >= 0 ||
         (comm.is_inter() && comm.peer_group().rank_of(process) >= 0);
}

std::vector<std::uint32_t> CommRegistry::contexts_of(const Comm& comm) {
  std::vector<std::uint32_t> contexts{comm.context()};
  if (comm.is_inter()) contexts.push_back(comm.local().context());
  return contexts;
}

void CommRegistry::add(Comm& comm) {
  {
    const std::lock_guard lock(mutex_);
    comms_.emplace(comm.id(), &comm);
    const auto concerns = [&](const Identity& failed) { return has_member(comm, failed); };
    if (std::ranges::any_of(failures_, concerns)) {
      comm.note_failure();
      for (const std::uint32_t context : contexts_of(comm)) born_.damaged.push_back(context);
    }
    const auto early = std::ranges::find(early_revocations_, comm.id());
    if (early != early_revocations_.end()) {
      early_revocations_.erase(early);
      born_.revoked.push_back(carry_out(comm));
    }
  }
  if (!comm.is_sound() && listener_) listener_();
}

void CommRegistry::remove(const Comm& comm) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = comms_.equal_range(comm.id());
  const auto found = std::find_if(first, last, [&](auto& entry) { return entry.second == &comm; });
  if (found != last) comms_.erase(found);
}

std::vector<std::uint32_t> CommRegistry::note_failure(const Identity& failed) {
  std::vector<std::uint32_t> contexts;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(failures_, failed) != failures_.end()) return contexts;
  failures_.push_back(failed);
  for (const auto& [id, comm] : comms_) {
    if (!has_member(*comm, failed)) continue;
    if (!comm->has_failures()) std::ranges::copy(contexts_of(*comm), std::back_inserter(contexts));
    comm->note_failure();
  }
  return contexts;
}

std::vector<Identity> CommRegistry::failed_members(const Comm& comm) const {
  std::vector<Identity> failed;
  const std::lock_guard lock(mutex_);
  std::ranges::copy_if(failures_, std::back_inserter(failed),
                       [&](const Identity& process) { return has_member(comm, process); });
  return failed;
}

void CommRegistry::forget_failure(const Identity& failed) {
  const std::lock_guard lock(mutex_);
  std::erase(failures_, failed);
}

std::unordered_set<Identity> CommRegistry::members_beyond(std::uint64_t job) const {
  std::unordered_set<Identity> members;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, comm] : comms_)
    for_each_member(*comm, [&](const Identity& member) {
      if (member.job != job) members.insert(member);
    });
  return members;
}

CommRegistry::Revoked CommRegistry::carry_out(Comm& comm) {
  comm.note_revocation();
  Revoked revoked{.id = comm.id(), .contexts = contexts_of(comm), .members = {}};
  for_each_member(comm, [&](const Identity& member) { revoked.members.push_back(member); });
  return revoked;
}

std::optional<CommRegistry::Revoked> CommRegistry::revoke(const GlobalId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = comms_.find(id);
  if (found == comms_.end()) {
    if (std::ranges::find(early_revocations_, id) != early_revocations_.end()) return std::nullopt;
    early_revocations_.push_back(id);
    if (early_revocations_.size() > early_revocations_max) early_revocations_.pop_front();
    return std::nullopt;
  }
  if (found->second->is_revoked()) return std::nullopt;
  return carry_out(*found->second);
}

CommRegistry::Born CommRegistry::take_born() {
  const std::lock_guard lock(mutex_);
  return std::exchange(born_, {});
}

}  // namespace hawser::core
