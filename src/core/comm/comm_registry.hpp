// CommRegistry: the communicators of one process, and what is known of failures that concern them:
// which processes have died, and which communicators were revoked before they were made here.
//
// Ownership: shared by the process and its communicators, which stand in it from their making to
//            their end; it owns none of them.
// Threads:   any. A communicator is touched under the registry's lock only, which its destructor
//            takes first; note_failure() and revoke() also want the lane lock, for caches of peers.
// Bounds:    communicators that were revoked before they were made: early_revocations_max, the
//            oldest is forgotten. The list of failures grows by one for each
//            process of this job, and each of another one until that is forgotten.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "core/comm/comm.hpp"

namespace hawser::core {

class CommRegistry {
 public:
  static constexpr std::size_t early_revocations_max = 1024;

  /// COMM has been made, or comes to its end. Called by Comm.
  void add(Comm& comm);
  void remove(const Comm& comm);

  /// FAILED has died: communicators that it belongs to are flagged. This process's contexts of
  /// those that were sound until now.
  std::vector<std::uint32_t> note_failure(const Identity& failed);
  /// The members of COMM, of both sides, that have died, in the order in which that became known.
  [[nodiscard]] std::vector<Identity> failed_members(const Comm& comm) const;

  /// FAILED, whom nobody knows any more, is no failure that will ever concern anybody.
  void forget_failure(const Identity& failed);
  /// Who belongs to a communicator, and to another job than JOB.
  [[nodiscard]] std::unordered_set<Identity> members_beyond(std::uint64_t job) const;

  /// What others need to carry out a revocation.
  struct Revoked {
    GlobalId id;
    std::vector<std::uint32_t> contexts;  // this process's
    std::vector<Identity> members;        // of both sides
  };
  /// The communicator ID is revoked from now on. Nothing if that was known, or if there is no such
  /// communicator here: if it is made later, it is revoked from the start (take_born()).
  std::optional<Revoked> revoke(const GlobalId& id);
  /// Communicators that were made since the last call, and were not sound from the start.
  struct Born {
    std::vector<Revoked> revoked;        // to be carried out
    std::vector<std::uint32_t> damaged;  // contexts of those with dead members
  };
  [[nodiscard]] Born take_born();
  /// Called, under no lock of the registry, when take_born() has something.
  void on_born(std::function<void()> listener) { listener_ = std::move(listener); }

 private:
  static bool has_member(const Comm& comm, const Identity& process);
  static Revoked carry_out(Comm& comm);
  static std::vector<std::uint32_t> contexts_of(const Comm& comm);

  mutable std::mutex mutex_;
  std::multimap<GlobalId, Comm*> comms_;
  std::vector<Identity> failures_;
  std::deque<GlobalId> early_revocations_;
  Born born_;
  std::function<void()> listener_;
};

}  // namespace hawser::core
