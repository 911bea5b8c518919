// The workloads, one file each; workload.cpp has their table.
#pragma once

#include "sim/workload.hpp"

namespace hawser::sim {

std::unique_ptr<Workload> make_ring(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_messages(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_transfers(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_flood(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_shifting(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_collectives(Random& random, int ranks, const core::TypeTable& types);
std::unique_ptr<Workload> make_communicators(Random& random, int ranks,
                                             const core::TypeTable& types);
std::unique_ptr<Workload> make_survivors(Random& random, int ranks, const core::TypeTable& types);

}  // namespace hawser::sim
