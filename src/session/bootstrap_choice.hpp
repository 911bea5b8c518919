// Which launcher started this process, as its environment tells, and the connection to it.
//
// Threads: before threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "bootstrap/bootstrap.hpp"

namespace hawser::session {

enum class BootstrapKind : std::uint8_t {
  local,  // our own mpirun
  pmix,
  pmi,   // PMI-1
  alone  // nobody: a job of one
};

/// What the environment says of launchers.
struct LauncherMarks {
  bool local = false;
  bool pmix = false;
  bool pmi = false;
  /// Tasks of the Slurm step of which srun started this process; 0 if it did not. The shell of a
  /// batch script is none of them.
  int slurm_tasks = 0;
};
LauncherMarks read_launcher_marks();

/// WANTED: the parameter "bootstrap". MPI_ERR_OTHER if what is wanted is not offered, or if srun
/// started several processes that would not find each other.
base::Result<BootstrapKind> choose_bootstrap(std::string_view wanted, const LauncherMarks& marks);

/// Connects to the launcher and takes it out of the environment, so that programs which this
/// process starts are jobs of their own.
base::Result<std::unique_ptr<bootstrap::Bootstrap>> connect_bootstrap(std::string_view wanted);

}  // namespace hawser::session
