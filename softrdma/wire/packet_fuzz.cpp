// Packets out of random bytes: what parses lies inside of what came, and is built again as it was
// but for reserved bits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "softrdma/wire/packet.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softrdma::wire;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto packet = parse(bytes);
  if (!packet) return 0;
  std::array<std::byte, headers_bytes_max> room;
  const std::size_t header_bytes = build(packet->headers, packet->payload.size(), room);
  const bool inside = packet->payload.at_hand().data() == bytes.data() + header_bytes &&
                      packet->payload.size() <= bytes.size() - header_bytes;
  if (!inside) std::abort();
  const auto again = parse(std::span(room).first(header_bytes));
  const bool needs_padding = padding_of(packet->payload.size()) != 0;
  if (!needs_padding && (!again || again->headers.sequence != packet->headers.sequence))
    std::abort();
  return 0;
}
