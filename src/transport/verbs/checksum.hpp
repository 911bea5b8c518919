// CRC32C of what is sent (ISA-L).
#pragma once

#include <isa-l/crc.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser::transport::verbs {

inline std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  // ISA-L takes its input as not constant, and leaves it alone. Its length is declared as an int
  // and read as 64 bits, the upper ones of which no compiler has to clear: this makes it.
  auto* const from =
      const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  std::uint64_t length = bytes.size();
  asm volatile("" : "+r"(length));
  return crc32_iscsi(from, static_cast<int>(length), ~0U) ^ ~0U;
}

}  // namespace hawser::transport::verbs
