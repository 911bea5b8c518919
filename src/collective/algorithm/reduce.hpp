// Reductions to one rank of an intracommunicator. All combine neighbours in rank order, so that
// they serve operations that do not commute; only the order of evaluation differs.
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

/// Everyone sends to the root, which combines from the last rank down.
template <class Executor>
void reduce_linear(Executor ex, const ReduceArguments& a);

/// A binomial tree; rooted at the root if the operation commutes, else at rank 0, which hands the
/// result on.
template <class Executor>
void reduce_binomial(Executor ex, const ReduceArguments& a);

}  // namespace hawser::collective
