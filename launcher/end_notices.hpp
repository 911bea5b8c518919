// EndNotices: tells the ranks which of them have ended, and wakes those that sleep: nothing else
// would tell a process that waits for one that was killed.
//
// A rank has ended when the process that mpirun started for it has, and also the MPI program, which
// may be a descendant that outlives it: mpirun is the reaper of both.
// Ownership: borrows the segment; owns the mapping of the wake words. Threads: one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "bootstrap/job_segment.hpp"
#include "platform/file.hpp"

namespace hawser::launcher {

class EndNotices {
 public:
  explicit EndNotices(const bootstrap::JobSegment& segment) : segment_(segment) {}

  /// The process PID, which mpirun started for RANK, has ended.
  void rank_ended(std::uint32_t rank, pid_t pid);
  /// A descendant of a rank has ended.
  void orphan_ended(pid_t pid);

 private:
  void tell(std::uint32_t rank);
  void wake_all();

  const bootstrap::JobSegment& segment_;
  std::optional<platform::Mapping> words_;         // once somebody was to be woken
  std::unordered_map<pid_t, std::uint32_t> left_;  // MPI programs that live on: their ranks
};

}  // namespace hawser::launcher
