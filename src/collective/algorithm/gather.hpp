// Gathers on intracommunicators.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// Everyone sends to the root, straight into its buffer.
template <class Executor>
void gather_linear(Executor ex, const GatherArguments& a);

/// Up a binomial tree, in packed blocks: log2(n) messages at the root.
template <class Executor>
void gather_binomial(Executor ex, const GatherArguments& a);

template <class Executor>
void gatherv_linear(Executor ex, const GathervArguments& a);

}  // namespace hawser::collective
