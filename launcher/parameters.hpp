// What every rank would say of its parameters, said once, before any is started.
#pragma once

#include "launcher/environment.hpp"
#include "launcher/options.hpp"

namespace hawser::launcher {

/// The variables of PROGRAM as the command line makes them of mpirun's own, without those that tell
/// a rank of its job.
Environment environment_of(const Program& program, const Options& options);

/// What mpirun itself goes by.
struct JobParameters {
  std::uint32_t busy_threads = 1;  // of each rank, at most (session::WaitSettings)
};

/// The parameters of the library that the programs of OPTIONS would find in their environment or in
/// the configuration file; or the first thing that is wrong with them (MPI_ERR_ARG).
Result<JobParameters> read_parameters(const Options& options);

}  // namespace hawser::launcher
