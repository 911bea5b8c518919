// external32: the standard's portable representation (MPI-5.0 §14.5.2): big-endian, IEEE 754.
//
// Threads: pure functions.
#pragma once

#include "core/datatype/shape.hpp"

namespace hawser::core {

/// Converts COUNT copies of SHAPE at BASE to OUT. MPI_ERR_CONVERSION if a long or a wide character
/// has a value that external32 can't hold.
Result<void> encode_external32(const Shape& shape, const void* base, Count count, void* out);
Result<void> decode_external32(const Shape& shape, void* base, Count count, const void* in);

}  // namespace hawser::core
