// Dividing processes among the dimensions of a grid (MPI-5.0 §8.5.2).
#pragma once

#include <span>

#include "base/result.hpp"

namespace hawser::topology {

/// Replaces the zeros of DIMS so that the product of all is PROCESSES: as close to each other as
/// possible, in falling order. MPI_ERR_DIMS for negative entries, or if the given ones do not
/// divide PROCESSES.
base::Result<void> fill_dimensions(int processes, std::span<int> dims);

}  // namespace hawser::topology
