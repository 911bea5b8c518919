#include "softrdma/fabric/letter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace softrdma::fabric {
namespace {

using Numbers = std::span<const std::uint16_t>;

void fill_body(Slot& slot, const memory::Pieces& payload) {
  std::byte* body = slot.body.data();
  for (const std::span<const std::byte> piece : payload.all()) {
    std::memcpy(body, piece.data(), piece.size());
    body += piece.size();
  }
}

void fill_pieces(Slot& slot, const memory::Pieces& payload, std::uint32_t epoch) {
  slot.head.epoch = epoch;
  slot.head.count = static_cast<std::uint8_t>(payload.all().size());
  std::byte* body = slot.body.data();
  for (const std::span<const std::byte> piece : payload.all()) {
    const FarPiece far{reinterpret_cast<std::uint64_t>(piece.data()), piece.size()};
    std::memcpy(body, &far, sizeof(far));
    body += sizeof(far);
  }
}

void fill_chunks(Slot& slot, const memory::Pieces& payload, Numbers numbers, const Inbox& inbox) {
  slot.head.count = static_cast<std::uint8_t>(numbers.size());
  std::memcpy(slot.body.data(), numbers.data(), numbers.size_bytes());
  std::size_t filled = 0;
  for (std::span<const std::byte> piece : payload.all()) {
    while (!piece.empty()) {
      const std::span<std::byte> room =
          inbox.chunk(numbers[filled / chunk_bytes]).subspan(filled % chunk_bytes);
      const std::size_t part = std::min(room.size(), piece.size());
      std::memcpy(room.data(), piece.data(), part);
      piece = piece.subspan(part);
      filled += part;
    }
  }
}

}  // namespace

void tell_of(const Route& route, qp::Arrival* arrival) {
  arrival->source_lid = route.source_lid;
  arrival->service_level = route.service_level;
  if (route.has_grh) arrival->grh = route.grh;
  if (route.has_host) arrival->host = route.host;
  arrival->is_marked = route.is_marked;
}

std::optional<Route> route_of(const qp::Arrival& arrival) {
  const bool is_datagram =
      arrival.packet.headers.opcode.service == wire::Service::unreliable_datagram;
  if (!is_datagram && !arrival.host) return std::nullopt;
  Route route{.source_lid = arrival.source_lid,
              .service_level = arrival.service_level,
              .has_grh = arrival.grh.has_value(),
              .grh = {},
              .is_marked = arrival.is_marked,
              .has_host = arrival.host.has_value(),
              .host = {}};
  if (arrival.grh) route.grh = *arrival.grh;
  if (arrival.host) route.host = *arrival.host;
  return route;
}

std::optional<std::uint64_t> leave_packet(const Host& host, std::uint16_t seat,
                                          const qp::Outgoing& packet, Form form,
                                          const Route* route) {
  Inbox inbox = host.inbox(seat);
  std::array<std::uint16_t, chunked_bytes_max / chunk_bytes> numbers;
  std::span<std::uint16_t> claimed;
  if (form == Form::chunks) {
    claimed = std::span(numbers).first((packet.payload.bytes() - 1) / chunk_bytes + 1);
    if (!inbox.claim_chunks(host.seat(), claimed)) return std::nullopt;
  }
  const std::optional<Inbox::Claim> claim = inbox.claim(host.seat());
  if (!claim) {
    inbox.release_chunks(claimed);
    return std::nullopt;
  }
  Slot& slot = claim->slot;
  slot.head.payload_bytes = static_cast<std::uint32_t>(packet.payload.bytes());
  slot.head.form = form;
  // Without the payload, which the slot tells the length of.
  slot.head.header_bytes =
      static_cast<std::uint8_t>(wire::build(packet.headers, 0, slot.head.headers));
  switch (form) {
    case Form::body:
      fill_body(slot, packet.payload);
      break;
    case Form::pieces:
      fill_pieces(slot, packet.payload,
                  host.seat_memory(host.seat()).epoch.load(std::memory_order_relaxed));
      break;
    case Form::chunks:
      fill_chunks(slot, packet.payload, claimed, inbox);
      break;
  }
  slot.head.has_route = route != nullptr;
  if (route != nullptr) slot.route = *route;
  inbox.publish(*claim, host.seat());
  return claim->position;
}

}  // namespace softrdma::fabric
