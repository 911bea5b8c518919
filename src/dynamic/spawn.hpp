// MPI_Comm_spawn (MPI-5.0 §11.8): the root opens a port, has the launcher start a job that knows
// its name, and accepts; the new processes connect to it in MPI_Init.
#pragma once

#include "bootstrap/spawn.hpp"
#include "dynamic/connections.hpp"

namespace hawser::dynamic {

/// Has the name of their parents' port in the environment of new processes.
inline constexpr const char* parent_port_variable = "HAWSER_PARENT_PORT";

/// Collective over LOCAL; REQUEST matters at rank ROOT of it. MPI_ERR_SPAWN.
Result<Ref<Comm>> spawn(Connections& connections, Outside& outside,
                        Result<bootstrap::SpawnRequest> request, Comm& local, int root);

}  // namespace hawser::dynamic
