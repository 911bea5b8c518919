// CRC32C (Castagnoli, RFC 3720 §12.1), by the processor's instruction where it has one.
//
// Of our own, since the library that programs are started with needs the C library alone, and there
// are packages of others as shared libraries only.
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser::base {

/// The checksum of BYTES, or of what has the checksum BEFORE with BYTES behind it.
std::uint32_t checksum_of(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace hawser::base
