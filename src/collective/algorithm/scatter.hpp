// Scatters on intracommunicators: the gathers the other way round.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// The root sends to everyone, straight from its buffer.
template <class Executor>
void scatter_linear(Executor ex, const ScatterArguments& a);

/// Down a binomial tree, in packed blocks.
template <class Executor>
void scatter_binomial(Executor ex, const ScatterArguments& a);

template <class Executor>
void scatterv_linear(Executor ex, const ScattervArguments& a);

}  // namespace hawser::collective
