// Mitigation: how a program goes on without processes that have died, as the MPI Forum's proposal
// of user-level failure mitigation has it (MPIX_Comm_revoke and the others of mpi-ext.h).
//
// Revocation: a communicator's id is told to all its members; whoever hears of it for the first
// time
//             tells all others too, so that it reaches all that live although who began it dies. Of
//             a communicator that is not there (yet, or any more) the id is remembered for a while
//             (core/comm/comm_registry.hpp).
// Agreement:  agreement.hpp; shrinking is an agreement about who has died, in which each member
//             brings its number for the new communicator along.
//
// Notices:    death_notices.hpp.
//
// Ownership: owned by the Process; borrows engine and factory, shares the registry.
// Threads:   thread-safe; takes the lane lock. What the backend calls runs under it already.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm_ops/agreements.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/death_notices.hpp"
#include "core/comm/comm_registry.hpp"

namespace hawser::comm_ops {

class Mitigation final : private p2p::ProgressSource {
 public:
  /// NOTIFIED: processes of the job, where the launcher tells nobody of deaths; else 1.
  Mitigation(p2p::Engine& engine, CommFactory& comms, std::shared_ptr<core::CommRegistry> registry,
             const Identity& self, std::uint32_t notified);
  ~Mitigation() override;
  Mitigation(const Mitigation&) = delete;
  Mitigation& operator=(const Mitigation&) = delete;

  /// From now on COMM is of use to nobody for messages. Not collective.
  void revoke(Comm& comm);

  /// The members of COMM that are known to have died, in the order in which that became known.
  [[nodiscard]] Ref<Group> failed(const Comm& comm) const;
  /// Those of them that the user has acknowledged.
  [[nodiscard]] Ref<Group> acknowledged(const Comm& comm) const;
  /// Acknowledges the first COUNT of failed(), or all if there are fewer, and nothing less than
  /// before; how many are acknowledged now.
  int acknowledge(Comm& comm, int count);
  void acknowledge_all(Comm& comm);

  // Collective over those members of COMM that live, also if it is revoked, on both sides of an
  // intercommunicator.
  /// FLAG becomes the bitwise conjunction of the flags of all members. MPIX_ERR_PROC_FAILED, at all
  /// alike, if some have died and not all members have acknowledged that.
  Result<void> agree(Comm& comm, int& flag);
  /// FLAG must live until the request is complete.
  Result<Ref<Request>> iagree(Comm& comm, int& flag);
  /// A communicator of the members that live, in their order. MPIX_ERR_PROC_FAILED if none is left
  /// on the other side of an intercommunicator.
  Result<Ref<Comm>> shrink(Comm& comm);
  /// *result is called when the request completes, under the lane lock.
  Result<Ref<Request>> ishrink(Comm& comm, std::function<void(Ref<Comm>)> result);

 private:
  bool advance(p2p::UserCode user_code) override;
  void spread(const core::CommRegistry::Revoked& revoked);
  void on_revocation(std::span<const std::byte> message);
  [[nodiscard]] Agreement::Contribution contribution_of(const Comm& comm,
                                                        const Group& members) const;
  Result<void> conclude_shrink(const Comm& parent, const Group& members,
                               const Agreement::Decision& decision,
                               const std::function<void(Ref<Comm>)>& result) const;

  p2p::Engine& engine_;
  CommFactory& comms_;
  const std::shared_ptr<core::CommRegistry> registry_;
  const Identity self_;
  Agreements agreements_;
  DeathNotices notices_;
};

}  // namespace hawser::comm_ops
