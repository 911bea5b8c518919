// CommFactory: makes the communicators of one process (MPI-5.0 §7.4, §7.6, §11.3).
//
// Every process numbers its communicators itself; a communicator's members tell each other their
// numbers when it is made (DESIGN §4). Numbers are never reused.
// Ownership: owned by the Process; borrows engine and plans; shares the registry in which its
//            communicators stand (null: failures pass them by).
// Threads:   thread-safe as far as MPI allows concurrent calls (different communicators or tags).
// Errors:    a Result of every member; attribute callbacks' errors come back as their codes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "base/ids.hpp"
#include "collective/executor/plan_runner.hpp"
#include "comm_ops/bridge.hpp"
#include "comm_ops/exchange.hpp"
#include "core/comm/comm.hpp"
#include "p2p/engine.hpp"

namespace hawser::comm_ops {

using base::Identity;
using base::Ref;
using base::Result;
using core::Comm;
using core::Errhandler;
using core::Group;
using core::Info;
using core::Request;

/// MPI_COMM_TYPE_*.
enum class SplitType : int {
  shared = 221,
  hw_unguided = 222,
  hw_guided = 223,
  resource_guided = 224
};

/// Where the processes of the job are: split_type asks it.
class Locality {
 public:
  virtual ~Locality() = default;
  [[nodiscard]] virtual bool is_same_host(const Identity& process) const = 0;
};

class CommFactory {
 public:
  CommFactory(p2p::Engine& engine, collective::PlanRunner& plans, const Identity& self,
              const Locality& locality, std::shared_ptr<core::CommRegistry> registry = nullptr);

  /// MPI_COMM_WORLD of SIZE processes of our job, and MPI_COMM_SELF; no communication.
  Ref<Comm> make_world(int size, Ref<Errhandler> errhandler);
  Ref<Comm> make_self(Ref<Errhandler> errhandler);

  // Collective over PARENT (both groups of an intercommunicator).
  /// Copies attributes and error handler; the info hints if INFO is null, else those of INFO.
  Result<Ref<Comm>> dup(Comm& parent, Info* info);
  /// As dup; *result is set when the request completes. RESULT must outlive it.
  Result<Ref<Request>> idup(Comm& parent, Info* info, std::function<void(Ref<Comm>)> result);
  /// Null for processes that are not in GROUP. Of an intercommunicator: GROUP is of this side.
  Result<Ref<Comm>> create(Comm& parent, const Group& group);
  /// COLOR >= 0 or undefined (-32766: null result). Intercommunicators too.
  Result<Ref<Comm>> split(Comm& parent, int color, int key);
  /// SPLIT_TYPE as in MPI_Comm_split_type or undefined; INFO may be null.
  Result<Ref<Comm>> split_type(Comm& parent, int split_type, int key, Info* info);
  Result<Ref<Comm>> merge(Comm& inter, bool high);

  // Collective over the members of a group only.
  /// Null if this process is not in GROUP (a subset of PARENT's).
  Result<Ref<Comm>> create_group(Comm& parent, const Group& group, int tag);
  Result<Ref<Comm>> create_from_group(const Group& group, std::string_view tag, Info* info,
                                      Ref<Errhandler> errhandler, const core::Object* session);
  /// Collective over LOCAL; the leaders talk over PEER (significant at leaders only).
  Result<Ref<Comm>> intercomm_create(Comm& local, int local_leader, Comm* peer, int remote_leader,
                                     int tag);
  /// The same where LEADER of LOCAL has a BRIDGE to the other group's leader, or the reason why it
  /// has none.
  Result<Ref<Comm>> connect(Comm& local, int leader, Result<Bridge> bridge);
  /// REMOTE is significant at the local leader only, and may be null elsewhere.
  Result<Ref<Comm>> intercomm_create_from_groups(const Group& local, int local_leader,
                                                 const Group* remote, int remote_leader,
                                                 std::string_view tag, Info* info,
                                                 Ref<Errhandler> errhandler,
                                                 const core::Object* session);

  /// This process's numbers for a communicator in the making.
  Numbers take_numbers(bool inter) { return {take_context(), inter ? take_context() : 0}; }

 private:
  std::uint32_t take_context() { return next_context_.fetch_add(1, std::memory_order_relaxed); }

  p2p::Engine& engine_;
  collective::PlanRunner& plans_;
  const Identity self_;
  const Locality& locality_;
  const std::shared_ptr<core::CommRegistry> registry_;
  std::atomic<std::uint32_t> next_context_{3};  // 0: setup, 1: world, 2: self
};

}  // namespace hawser::comm_ops
