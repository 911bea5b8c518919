// Walk: runs a Layout over memory, from any byte of the packed stream on.
//
// Threads:  pure functions; they allocate nothing.
// Contract: [skip, skip + bytes) lies in [0, items.size). BASE may be null (MPI_BOTTOM), with the
//           addresses in the layout.
#pragma once

#include "core/datatype/layout.hpp"

namespace hawser::core {

void pack_layout(const Layout& items, const void* base, Count skip, void* out, Count bytes);
void unpack_layout(const Layout& items, void* base, Count skip, const void* in, Count bytes);
/// Datatype::segments for ITEMS.
std::size_t list_segments(const Layout& items, void* base, Count skip, std::span<Segment> out,
                          Count* covered);

}  // namespace hawser::core
