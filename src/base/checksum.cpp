#include "base/checksum.hpp"

#include <isa-l/crc.h>

namespace hawser::base {

std::uint32_t checksum_of(std::span<const std::byte> bytes, std::uint32_t before) {
  // ISA-L takes its input as not constant, and leaves it alone. Its length is declared as an int
  // and read as 64 bits, the upper ones of which no compiler has to clear: this makes it.
  auto* const from =
      const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  std::uint64_t length = bytes.size();
  asm volatile("" : "+r"(length));
  return ~crc32_iscsi(from, static_cast<int>(length), ~before);
}

}  // namespace hawser::base
