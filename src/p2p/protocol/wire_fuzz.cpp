// Frames out of random bytes: what parses must lie inside of what came.
#include <algorithm>
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
  const auto lies_inside = [&](std::span<const std::byte> payload) {
    return payload.data() >= body.data() &&
           payload.data() + payload.size() <= body.data() + body.size();
  };
  // In one piece, or, as the last byte says, in two.
  const std::size_t head_bytes = body.empty() ? 0 : std::to_integer<std::size_t>(body.back());
  for (const std::size_t bytes : {body.size(), std::min(head_bytes, body.size())}) {
    const hawser::transport::FrameView view(body.first(bytes), body.subspan(bytes));
    if (const auto eager = parse_eager(view))
      if (!lies_inside(eager->payload)) std::abort();
    if (const auto arrival = parse_arrival(static_cast<FrameClass>(data[0]), view))
      if (!lies_inside(arrival->payload) || arrival->payload.size() > arrival->rendezvous.total)
        std::abort();
  }
  return 0;
}
