// Prefix reductions on intracommunicators; all keep the rank order.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// A chain from rank 0 up: n-1 messages, and each process wakes once.
template <class Executor>
void scan_linear(Executor ex, const ScanArguments& a);
template <class Executor>
void exscan_linear(Executor ex, const ExscanArguments& a);

/// log2(n) rounds, in which each process hears from ever farther below.
template <class Executor>
void scan_recursive_doubling(Executor ex, const ScanArguments& a);
template <class Executor>
void exscan_recursive_doubling(Executor ex, const ExscanArguments& a);

}  // namespace hawser::collective
