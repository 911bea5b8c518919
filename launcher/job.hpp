// Job: starts the ranks, waits, and carries out what the Supervisor orders.
//
// Ownership: borrows options, segment and signals; owns processes and pipes until run() returns.
// Threads:   one; it sleeps in one poll().
// Invariant: when run() returns, nothing that the ranks started is left (but what the kernel
// holds).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "bootstrap/job_segment.hpp"
#include "launcher/end_notices.hpp"
#include "launcher/environment.hpp"
#include "launcher/options.hpp"
#include "launcher/output/relay.hpp"
#include "launcher/placement/binding.hpp"
#include "launcher/signals.hpp"
#include "launcher/spawn.hpp"
#include "launcher/supervise.hpp"

namespace hawser::launcher {

class Job {
 public:
  Job(const Options& options, const bootstrap::JobSegment& segment, std::vector<Binding> bindings,
      const SignalSource& signals, const rlimit& descriptors);

  /// Runs the job to its end; the code to exit with.
  int run();

 private:
  void start();
  /// False after a failure, which the supervisor knows then.
  bool start_rank(Spawner& spawner, std::uint32_t rank, const Program& program,
                  Environment& environment);
  void fail(Verdict verdict);

  void wait();
  void take_signals();
  void reap();
  void obey(const Supervisor::Orders& orders);
  void note_spawned_end(int status);
  /// Children that nothing is sent to.
  [[nodiscard]] std::vector<pid_t> spared_children() const;
  [[nodiscard]] bool runs_spawned() const;
  /// Once all ranks have ended: their orphans, their last output, the verdict.
  void settle();
  [[nodiscard]] std::string sentence() const;
  [[nodiscard]] std::string sentence_about(const Verdict& verdict) const;

  const Options& options_;
  const bootstrap::JobSegment& segment_;
  const std::vector<Binding> bindings_;
  const SignalSource& signals_;
  const rlimit descriptors_;                   // what programs get
  const std::vector<pid_t> foreign_children_;  // of whatever program became mpirun by exec
  const platform::FileDescriptor null_;

  Supervisor supervisor_;
  EndNotices notices_;
  Relay relay_;
  std::unordered_map<pid_t, std::uint32_t> running_;  // rank by process
  std::vector<pid_t> pids_;                           // by rank, also of those that ended
  int spawned_code_ = 0;                              // of the first job of a rank's that failed
  bool settled_ = false;
};

}  // namespace hawser::launcher
