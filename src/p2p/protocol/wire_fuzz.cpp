// Frames out of random bytes: what parses must lie inside of what came.
#include <cstdint>
#include <cstdlib>

#include "p2p/protocol/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hawser::p2p::wire;
  if (size == 0) return 0;
  const std::span<const std::byte> body(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  if (const auto part = parse_active(body)) {
    const std::uint64_t end = std::uint64_t{part->header.offset} + part->payload.size();
    const std::byte* const body_end = body.data() + body.size();
    if (end > part->header.total || part->header.total > hawser::p2p::active_bytes_max ||
        part->payload.data() < body.data() ||
        part->payload.data() + part->payload.size() > body_end)
      std::abort();
  }
  const auto arrival = parse_arrival(static_cast<FrameClass>(data[0]), body);
  if (!arrival) return 0;
  const bool inside =
      arrival->payload.data() >= body.data() &&
      arrival->payload.data() + arrival->payload.size() <= body.data() + body.size();
  if (!inside || arrival->payload.size() > arrival->rendezvous.total) std::abort();
  return 0;
}
