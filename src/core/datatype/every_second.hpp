// Every second element: by far the most common stride, that of one of two interleaved fields, as
// the real parts of complex numbers. By the widest vectors that the processor has: it is not
// arithmetic that they speed up. The packed stream, or the memory, often comes from another core's
// cache, and the fewer instructions a line takes, the more lines are on their way at once.
//
// BYTES of an element: 1, 2, 4 or 8. COUNT elements lie at FROM, or go to TO, 2 * BYTES apart, at
// any address; what lies between them is not written, and behind the last one not even read.
#pragma once

#include <cstddef>

#include "core/datatype/layout.hpp"

namespace hawser::core {

template <std::size_t bytes>
void pack_every_second(std::byte* to, const std::byte* from, Count count);
template <std::size_t bytes>
void unpack_every_second(std::byte* to, const std::byte* from, Count count);

}  // namespace hawser::core
