// Affinity masks for the ranks, from the topology that hwloc finds.
//
// Ownership: values. The topology is loaded only if the options can lead to a binding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/options.hpp"

namespace hawser::launcher {

struct Binding {
  std::vector<unsigned long> mask;  // as sched_setaffinity wants it; empty: unbound
  std::string text = "any core";    // "cores 0-3", in the kernel's numbers
};

/// One for each of RANKS, which have so many BUSY_THREADS each. Cores that mpirun itself may not
/// use are not dealt out.
std::vector<Binding> bind_ranks(BindTo bind_to, std::uint32_t ranks, std::uint32_t busy_threads);

}  // namespace hawser::launcher
