#include "p2p/protocol/wire.hpp"

namespace hawser::p2p::wire {

std::optional<Arrival> parse_arrival(FrameClass frame_class, std::span<const std::byte> body) {
  Arrival arrival;
  const std::optional<MatchHeader> match = take<MatchHeader>(body);
  if (!match) return std::nullopt;
  arrival.match = *match;
  arrival.frame_class = frame_class;
  if (frame_class != FrameClass::eager) {
    const std::optional<RendezvousHeader> rendezvous = take<RendezvousHeader>(body);
    if (!rendezvous || rendezvous->total < match->payload_bytes) return std::nullopt;
    arrival.rendezvous = *rendezvous;
  } else {
    arrival.rendezvous.total = match->payload_bytes;
  }
  if (body.size() != match->payload_bytes || match->source < 0 || match->tag < 0)
    return std::nullopt;
  arrival.payload = body;
  return arrival;
}

}  // namespace hawser::p2p::wire
