// Detachment: what an mpirun does that a rank of another job has started for MPI_Comm_spawn
// (bootstrap/local/spawned_job.hpp): the process that the rank waits for ends at once, and a child
// of it goes on, which stays when the rank ends.
//
// Ownership: owns the descriptor by which it reports. Threads: before there are others.
#pragma once

#include "platform/file.hpp"

namespace hawser::launcher {

class Detachment {
 public:
  /// Detaches this process if its environment asks for it.
  Detachment();
  void report_exit(int code) const;

 private:
  platform::FileDescriptor report_;  // closed: nobody wants to know
};

}  // namespace hawser::launcher
