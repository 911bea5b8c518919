// Workload: a program that all ranks of a simulation run, with blocking calls as a user would make
// them, and that checks what it gets.
//
// Rank:      what such a program sees of its process. Every check that fails ends the simulation.
// Ownership: one Workload object serves all ranks, and holds what they must agree upon; it outlives
//            the processes.
// Threads:   one; another rank may run in between wherever a call blocks.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "p2p/completion/completion.hpp"
#include "session/process.hpp"
#include "sim/random.hpp"
#include "sim/scheduler.hpp"

namespace hawser::sim {

using base::Count;
using base::Ref;
using base::Result;
using core::Comm;
using core::Datatype;
using core::Request;
using core::Status;

struct Rank {
  int rank;
  int size;
  session::Process& process;
  Scheduler& scheduler;
  Random random;  // this rank's own
  Ref<Comm> world;

  [[nodiscard]] p2p::Engine& engine() { return process.engine(); }

  /// What comes next, for traces and reports.
  template <class... Arguments>
  void doing(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    scheduler.set_activity(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  void check(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (!condition) scheduler.fail(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  void check(const Result<void>& result) {
    if (!result.ok()) scheduler.fail(result.error().sentence());
  }
  /// The value of RESULT.
  template <class T>
  T check(Result<T> result) {
    if (!result.ok()) scheduler.fail(result.error().sentence());
    return std::move(*result);
  }
  void wait(const Ref<Request>& request) { check(p2p::wait(engine(), request.get(), nullptr)); }
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual void run(Rank& rank) = 0;
};

struct WorkloadEntry {
  std::string_view name;
  std::string_view sentence;
  /// RANDOM draws what all ranks share.
  std::unique_ptr<Workload> (*make)(Random& random, int ranks, const core::TypeTable& types);
  /// Ranks may be killed (Scheduler::was_killed tells which); the others don't meet at the end.
  bool tolerates_deaths = false;
};

std::span<const WorkloadEntry> workloads();
/// Null if there is none of that name.
const WorkloadEntry* find_workload(std::string_view name);

}  // namespace hawser::sim
