// Barriers of intracommunicators.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// log2(n) rounds; every process sends one message in each. Shortest path where cores are free.
template <class Executor>
void barrier_dissemination(Executor ex, const BarrierArguments&);

/// All report to rank 0, which lets them go: 2(n-1) messages, and each but 0 wakes once.
template <class Executor>
void barrier_linear(Executor ex, const BarrierArguments&);

}  // namespace hawser::collective
