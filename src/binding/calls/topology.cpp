// Process topologies: what can be said of communicators that have none, since none can be made yet.
#include "binding/generated/topology.hpp"

#include <fmt/format.h>

#include "topology/dims.hpp"

namespace hawser::calls {

Result<void> topo_test(Runtime&, core::Comm&, int& status) {
  status = MPI_UNDEFINED;
  return {};
}

Result<void> dims_create(Runtime&, int nnodes, std::span<int> dims) {
  if (nnodes < 1)
    return base::Error(base::ErrorClass::arg,
                       fmt::format("argument 'nnodes' is {}; it must be positive", nnodes));
  return topology::fill_dimensions(nnodes, dims);
}

}  // namespace hawser::calls
