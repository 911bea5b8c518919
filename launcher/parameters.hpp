// What every rank would say of its parameters, said once, before any is started.
#pragma once

#include "launcher/environment.hpp"
#include "launcher/options.hpp"

namespace hawser::launcher {

/// The variables of PROGRAM as the command line makes them of mpirun's own, without those that tell
/// a rank of its job.
Environment environment_of(const Program& program, const Options& options);

/// The first thing that is wrong (MPI_ERR_ARG) with the parameters of the library that a program of
/// OPTIONS would find in its environment or in the configuration file.
Result<void> check_parameters(const Options& options);

}  // namespace hawser::launcher
