// Kernels: the loops of the predefined reductions, one per operation and machine type.
//
// Purpose: find_kernel() picks a loop once; the loop then runs over the whole buffer without a
//          branch that depends on the type, so that compilers vectorise it.
// Threads: pure functions.
// Buffers: may be unaligned; they do not overlap.
#pragma once

#include "core/datatype/basic.hpp"
#include "core/op/op.hpp"

namespace hawser::core {

/// As Kernel, for (value, index) pairs, that BASIC describes.
using PairKernel = void (*)(const void* in, void* inout, Count count, const Basic& basic);

/// Null if CODE is not for elements of this kind, or this platform can't compute with them.
Kernel find_kernel(OpCode code, const Element& element);
PairKernel find_pair_kernel(OpCode code, const Basic& basic);

}  // namespace hawser::core
