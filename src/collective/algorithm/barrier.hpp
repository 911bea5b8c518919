// Barriers of intracommunicators.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// log2(n) rounds; every process sends one message in each. Shortest path where cores are free.
template <class Executor>
void barrier_dissemination(Executor ex, const BarrierArguments&);

/// Pairs of ranks meet, by one bit of their numbers after the other: as many rounds and messages,
/// and half as many partners; two more rounds where the ranks are no power of two.
template <class Executor>
void barrier_recursive_doubling(Executor ex, const BarrierArguments&);

/// All report to rank 0, which lets them go: 2(n-1) messages, and each but 0 wakes once.
template <class Executor>
void barrier_linear(Executor ex, const BarrierArguments&);

}  // namespace hawser::collective
