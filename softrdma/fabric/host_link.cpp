#include "softrdma/fabric/host_link.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/clock.hpp"
#include "platform/process.hpp"
#include "softrdma/fabric/letter.hpp"
#include "softrdma/link/multicast.hpp"

namespace softrdma::fabric {

using hawser::platform::MemoryPiece;

namespace {

constexpr std::uint32_t window_packets = 16;
constexpr std::uint32_t reliable_segment_bytes = 64U << 10;
// What has no acknowledgement is copied: its sender may have its memory back at once.
constexpr std::uint32_t unreliable_segment_bytes = chunk_bytes;
constexpr int taken_in_a_row = 64;
constexpr std::uint64_t look_again_ns = 20'000;
/// A slot that stays half filled for so long may be a dead process's.
constexpr std::uint64_t stuck_ns = 1'000'000;

}  // namespace

// Where packets go

std::optional<qp::Path> HostLink::path_to(const ibv_ah_attr& address, ibv_mtu /*mtu*/) const {
  if (!is_ours(address)) return std::nullopt;
  return qp::Path{.segment_bytes = reliable_segment_bytes,
                  .unreliable_segment_bytes = unreliable_segment_bytes,
                  .window_packets = window_packets};
}

bool HostLink::has_room(const qp::Destination& destination) {
  const std::optional<std::uint16_t> seat = host_.owner_of(destination.queue_pair);
  // To nobody there is always room.
  if (!seat) return true;
  if (!held_.contains(*seat) && host_.inbox(*seat).has_room()) return true;
  if (!host_.is_alive(*seat)) {
    held_.erase(*seat);
    return true;
  }
  looks_again_ns_ = now_ns_ + look_again_ns;
  return false;
}

// Leaving packets

/// A copy to each process that WANTS(it), by what it says in its seat, this one too. Who has no
/// room for it goes without.
template <class Wants>
void HostLink::send_to_each(const qp::Outgoing& packet, const ibv_ah_attr& address, Wants&& wants) {
  if (link::source_port(ports_, address) == nullptr) return;
  for (std::uint16_t seat = 0; seat < host_.seats_end(); ++seat) {
    if (!wants(host_.seat_memory(seat)) || !host_.is_alive(seat)) continue;
    ++counters_.sent;
    if (!leave(seat, packet, address)) ++counters_.without_room;
  }
}

void HostLink::send(const qp::Outgoing& packet, const ibv_ah_attr& address) {
  if (link::is_for_group(packet.headers, address)) {
    const wire::Address group = link::address_of(address.grh.dgid);
    return send_to_each(packet, address, [&](const SeatMemory& seat) {
      return GroupFilter::may_have(seat.groups, group);
    });
  }
  if (packet.headers.destination_qp == link::management_number)
    return send_to_each(packet, address,
                        [](const SeatMemory& seat) { return seat.has_management.load() != 0; });
  const std::optional<std::uint16_t> seat =
      receiver_of(host_, packet.headers,
                  [&](std::uint16_t owner) { return neighbours_.lives(owner, now_ns_); });
  if (!seat) return;
  ++counters_.sent;
  if (!leave(*seat, packet, address)) hold(*seat, packet, address);
}

bool HostLink::pass_on(const qp::Arrival& arrival) {
  const wire::Packet& packet = arrival.packet;
  const std::optional<std::uint16_t> seat = targets_.take_route(packet.headers);
  if (!seat) return false;
  std::vector<std::byte> payload(packet.payload.size());
  const std::span<std::byte> whole(payload);
  qp::Outgoing letter;
  letter.headers = packet.headers;
  // What can't be read, or finds no room, is lost, and comes again.
  if (!packet.payload.read({&whole, 1})) return true;
  letter.payload.add(payload);
  const std::optional<Route> route = fabric::route_of(arrival);
  if (leave_packet(host_, *seat, letter, copied_form(payload.size()), route ? &*route : nullptr))
    host_.ring(*seat);
  return true;
}

Form HostLink::form_for(std::uint16_t seat, const qp::Outgoing& packet) const {
  const Form copied = copied_form(packet.payload.bytes());
  if (copied == Form::body || copies_always_ || packet.is_copy ||
      !wire::is_reliable(packet.headers.opcode.service))
    return copied;
  const bool is_closed =
      host_.seat_memory(seat).cannot_read[host_.seat()].load(std::memory_order_relaxed) != 0;
  return is_closed ? Form::chunks : Form::pieces;
}

/// False if there is no room.
bool HostLink::leave(std::uint16_t seat, const qp::Outgoing& packet, const ibv_ah_attr& address) {
  const bool is_datagram = packet.headers.opcode.service == wire::Service::unreliable_datagram;
  const Route route = is_datagram ? route_of(packet, address) : Route{};
  const Form form = form_for(seat, packet);
  const std::optional<std::uint64_t> position =
      leave_packet(host_, seat, packet, form, is_datagram ? &route : nullptr);
  if (!position) return false;
  if (form == Form::pieces) note_outstanding(seat, *position, packet.payload);
  // Our own inbox we look at ourselves.
  if (seat != host_.seat()) host_.ring(seat);
  return true;
}

/// As it would be on the wire of InfiniBand (IBA §8.3).
Route HostLink::route_of(const qp::Outgoing& packet, const ibv_ah_attr& address) const {
  Route route{};
  const link::PortIdentity& port = *link::source_port(ports_, address);
  route.source_lid = port.lid;
  route.service_level = address.sl;
  route.has_grh = address.is_global != 0;
  if (!route.has_grh) return route;
  constexpr std::uint8_t next_header = 0x1b;
  const ibv_global_route& way = address.grh;
  ibv_grh header{};
  header.version_tclass_flow =
      htonl(6U << 28 | std::uint32_t{way.traffic_class} << 20 | (way.flow_label & 0xfffff));
  header.paylen = htons(static_cast<std::uint16_t>(packet.payload.bytes()));
  header.next_hdr = next_header;
  header.hop_limit = way.hop_limit;
  header.sgid = port.gids[way.sgid_index];
  header.dgid = way.dgid;
  static_assert(sizeof(header) == qp::grh_bytes);
  std::memcpy(route.grh.data(), &header, sizeof(header));
  return route;
}

void HostLink::hold(std::uint16_t seat, const qp::Outgoing& packet, const ibv_ah_attr& address) {
  Held held{packet, address, {}, host_.seat_memory(host_.seat()).epoch.load()};
  if (form_for(seat, packet) != Form::pieces) {
    packet.payload.append_to(&held.copy);
    held.packet.payload.clear();
  }
  // Another one is there only if the device did not ask for room; then this one is lost.
  held_.emplace(seat, std::move(held));
  looks_again_ns_ = now_ns_ + look_again_ns;
}

bool HostLink::leave_held() {
  const std::uint32_t epoch = host_.seat_memory(host_.seat()).epoch.load();
  bool moved = false;
  for (auto next = held_.begin(); next != held_.end();) {
    const auto entry = next++;
    auto& [seat, held] = *entry;
    const bool is_withdrawn =
        held.copy.empty() && held.packet.payload.bytes() != 0 && held.epoch != epoch;
    if (!held.copy.empty()) {
      held.packet.payload.clear();
      held.packet.payload.add(held.copy);
    }
    if (is_withdrawn || leave(seat, held.packet, held.address) || !host_.is_alive(seat)) {
      held_.erase(entry);
      moved = true;
    } else {
      looks_again_ns_ = now_ns_ + look_again_ns;
    }
  }
  return moved;
}

// Memory that others may still read

void HostLink::note_outstanding(std::uint16_t seat, std::uint64_t position,
                                const memory::Pieces& pieces) {
  while (!outstanding_.empty() &&
         host_.inbox(outstanding_.front().seat).is_taken(outstanding_.front().position))
    outstanding_.pop_front();
  Outstanding entry{seat, position, ~std::uint64_t{0}, 0};
  for (const std::span<const std::byte> piece : pieces.all()) {
    const auto begin = reinterpret_cast<std::uint64_t>(piece.data());
    entry.begin = std::min(entry.begin, begin);
    entry.end = std::max(entry.end, begin + piece.size());
  }
  outstanding_.push_back(entry);
}

void HostLink::withdraw(std::span<const std::byte> memory) {
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
  const std::uint64_t end = begin + memory.size();
  const bool may_be_read = std::ranges::any_of(outstanding_, [&](const Outstanding& entry) {
    return entry.begin < end && begin < entry.end &&
           !host_.inbox(entry.seat).is_taken(entry.position);
  });
  // One that is being read just now has not been taken.
  if (may_be_read) withdraw_all();
}

void HostLink::withdraw_all() {
  if (outstanding_.empty()) return;
  outstanding_.clear();
  host_.seat_memory(host_.seat()).epoch.fetch_add(1);
  neighbours_.wait_for_visitors();
}

// Multicast groups

bool HostLink::join(const ibv_gid& gid) {
  groups_.add(link::address_of(gid));
  return true;
}
void HostLink::leave(const ibv_gid& gid) { groups_.remove(link::address_of(gid)); }

// Taking packets

/// A payload in the memory of another process, or in pieces of our own.
class HostLink::FarMemory final : public wire::PayloadSource {
 public:
  void set(HostLink& link, std::uint16_t seat, const Slot& slot) {
    link_ = &link;
    seat_ = seat;
    epoch_ = slot.head.epoch;
    count_ = std::min<std::size_t>(slot.head.count, memory::entries_max);
    std::memcpy(pieces_.data(), slot.body.data(), count_ * sizeof(FarPiece));
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t total = 0;
    for (const MemoryPiece& piece : std::span(pieces_).first(count_)) total += piece.bytes;
    return total;
  }

  bool read(std::span<const std::span<std::byte>> parts) override {
    Host& host = link_->host_;
    const SeatMemory& theirs = host.seat_memory(seat_);
    const Neighbours::Visit visit(link_->neighbours_, seat_);
    // Whoever takes memory back changes the epoch first.
    const bool is_current = theirs.epoch.load() == epoch_;
    const bool was_read = is_current && copy(parts) && theirs.epoch.load() == epoch_;
    if (!was_read) ++link_->counters_.gone;
    return was_read;
  }

 private:
  bool copy(std::span<const std::span<std::byte>> parts) {
    // Those of a receive, and of a header before them.
    std::array<MemoryPiece, memory::entries_max + 1> to;
    const std::size_t to_count = std::min(parts.size(), to.size());
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < to_count; ++i) {
      to[i] = {reinterpret_cast<std::uint64_t>(parts[i].data()), parts[i].size()};
      wanted += parts[i].size();
    }
    Host& host = link_->host_;
    if (seat_ == host.seat()) return copy_own(parts);
    if (!link_->may_read(seat_)) return false;
    const std::int64_t copied = hawser::platform::read_memory(link_->neighbours_.process_of(seat_),
                                                              std::span(to).first(to_count),
                                                              std::span(pieces_).first(count_));
    if (copied != static_cast<std::int64_t>(wanted)) return false;
    link_->counters_.read_bytes += wanted;
    return true;
  }

  bool copy_own(std::span<const std::span<std::byte>> parts) {
    std::size_t piece = 0;
    std::size_t offset = 0;  // in that piece
    for (std::span<std::byte> part : parts) {
      while (!part.empty()) {
        if (piece == count_) return false;
        const std::size_t bytes = std::min<std::size_t>(part.size(), pieces_[piece].bytes - offset);
        // Ours, as fill() put it there.
        std::memcpy(part.data(),
                    reinterpret_cast<const std::byte*>(pieces_[piece].address) + offset, bytes);
        part = part.subspan(bytes);
        offset += bytes;
        if (offset < pieces_[piece].bytes) continue;
        ++piece;
        offset = 0;
      }
    }
    return true;
  }

  HostLink* link_ = nullptr;
  std::uint16_t seat_ = 0;
  std::uint32_t epoch_ = 0;
  std::array<MemoryPiece, memory::entries_max> pieces_;
  std::size_t count_ = 0;
  static_assert(sizeof(MemoryPiece) == sizeof(FarPiece));
};

/// What we may not read, its owner hears of.
bool HostLink::may_read(std::uint16_t seat) {
  if (neighbours_.may_visit(seat)) return true;
  host_.seat_memory(host_.seat()).cannot_read[seat] = 1;
  return false;
}

/// Fills *OUT from SLOT; false if that is no packet.
bool HostLink::open(const Slot& slot, FarMemory* far, std::vector<std::byte>* joined,
                    qp::Arrival* out) {
  const SlotHead head = slot.head;
  if (head.header_bytes > head.headers.size()) return false;
  const std::optional<wire::Packet> packet =
      wire::parse(std::span(head.headers).first(head.header_bytes));
  if (!packet || (head.payload_bytes != 0 && !packet->shape.payload)) return false;
  out->packet = *packet;
  if (head.has_route) tell_of(slot.route, out);
  switch (head.form) {
    case Form::body:
      if (head.payload_bytes > slot.body.size()) return false;
      out->packet.payload = std::span(slot.body).first(head.payload_bytes);
      return true;
    case Form::pieces:
      far->set(*this, sender_of(slot), slot);
      if (far->bytes() != head.payload_bytes) return false;
      out->packet.payload = wire::Payload(*far, head.payload_bytes);
      return true;
    case Form::chunks: {
      if (head.count * chunk_bytes < head.payload_bytes) return false;
      joined->clear();
      for (const std::uint16_t number : chunk_numbers(slot)) {
        const std::span<std::byte> chunk = inbox_.chunk(number);
        joined->insert(joined->end(), chunk.begin(), chunk.end());
      }
      joined->resize(head.payload_bytes);
      out->packet.payload = std::span<const std::byte>(*joined);
      return true;
    }
  }
  return false;
}

bool HostLink::take_one(link::Sink& sink) {
  const Slot* const slot = inbox_.front();
  if (slot == nullptr) return false;
  FarMemory far;
  std::vector<std::byte> joined;
  qp::Arrival arrival;
  if (open(*slot, &far, &joined, &arrival)) {
    ++counters_.received;
    sink.on_arrival(arrival);
  } else {
    ++counters_.malformed;
  }
  if (slot->head.form == Form::chunks) inbox_.release_chunks(chunk_numbers(*slot));
  inbox_.pop();
  return true;
}

bool HostLink::poll(link::Sink& sink, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  const bool looked_again = looks_again_ns_ && now_ns >= *looks_again_ns_;
  if (looked_again) looks_again_ns_.reset();
  bool moved = !held_.empty() && leave_held();
  int taken = 0;
  while (taken < taken_in_a_row && take_one(sink)) ++taken;
  if (taken == 0) pass_dead(now_ns);
  return moved || taken > 0 || looked_again;
}

/// A slot that its owner claimed and died with is in the way of all that come after it.
void HostLink::pass_dead(std::uint64_t now_ns) {
  const std::optional<std::uint16_t> seat = inbox_.unfinished();
  if (!seat) {
    stuck_since_ns_ = 0;
    return;
  }
  if (stuck_since_ns_ == 0) stuck_since_ns_ = now_ns;
  if (now_ns - stuck_since_ns_ >= stuck_ns) {
    stuck_since_ns_ = 0;
    if (!host_.is_alive(*seat)) inbox_.skip(*seat);
  }
  looks_again_ns_ = now_ns + look_again_ns;
}

std::optional<std::uint64_t> HostLink::deadline_ns() const { return looks_again_ns_; }

}  // namespace softrdma::fabric
