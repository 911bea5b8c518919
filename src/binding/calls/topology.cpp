// Process topologies: what can be said of communicators that have none, since none can be made yet.
#include "binding/generated/topology.hpp"

namespace hawser::calls {

Result<void> topo_test(Runtime&, core::Comm&, int& status) {
  status = MPI_UNDEFINED;
  return {};
}

}  // namespace hawser::calls
