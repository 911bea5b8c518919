#include "sim/sim_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.hpp"

namespace hawser::sim {

using transport::Link;
using transport::MemoryPiece;

namespace {

/// Copies at most LIMIT bytes from the pieces of REMOTE, in order, to those of LOCAL.
std::int64_t copy_pieces(std::span<const MemoryPiece> local, std::span<const MemoryPiece> remote,
                         std::uint64_t limit) {
  std::uint64_t copied = 0;
  std::size_t from = 0;
  std::uint64_t from_offset = 0;
  for (const MemoryPiece& to : local) {
    for (std::uint64_t done = 0; done < to.bytes && from < remote.size() && copied < limit;) {
      const std::uint64_t bytes =
          std::min({to.bytes - done, remote[from].bytes - from_offset, limit - copied});
      std::memmove(reinterpret_cast<void*>(to.address + done),
                   reinterpret_cast<const void*>(remote[from].address + from_offset), bytes);
      copied += bytes;
      done += bytes;
      from_offset += bytes;
      if (from_offset < remote[from].bytes) continue;
      ++from;
      from_offset = 0;
    }
  }
  return static_cast<std::int64_t>(copied);
}

}  // namespace

std::size_t SimLink::frame_bytes_max(ChannelKind kind) const {
  return kind == ChannelKind::ring ? network_.settings().ring_frame_bytes_max
                                   : network_.settings().queue_frame_bytes_max;
}

std::byte* SimLink::reserve(ChannelKind kind, std::size_t bytes) {
  HAWSER_ASSERT(channels_.has(kind) && kind != ChannelKind::single_copy);
  HAWSER_ASSERT(!reserved_ && bytes <= frame_bytes_max(kind));
  if (!network_.claim_room(self_, peer_, kind)) return nullptr;
  // Exactly as long as asked for, so that a sanitizer sees every byte beyond.
  reserved_ = std::make_unique<std::byte[]>(bytes);
  reserved_bytes_ = bytes;
  return reserved_.get();
}

void SimLink::commit(ChannelKind kind) {
  HAWSER_ASSERT(reserved_);
  if (kind == ChannelKind::ud_send) {
    std::byte* const frame = reserved_.get();
    kept_.emplace(frame, std::move(reserved_));
    send_copy(frame, reserved_bytes_);
    return;
  }
  network_.send_frame(self_, peer_, kind, std::move(reserved_), reserved_bytes_);
}

void SimLink::send_copy(const std::byte* frame, std::size_t bytes) {
  auto copy = std::make_unique<std::byte[]>(bytes);
  std::copy_n(frame, bytes, copy.get());
  network_.send_frame(self_, peer_, ChannelKind::ud_send, std::move(copy), bytes);
}

bool SimLink::may_lose_frames() const { return network_.settings().has_datagrams; }

bool SimLink::send_once(ChannelKind kind, std::span<const std::byte> frame) {
  if (kind != ChannelKind::ud_send) return Link::send_once(kind, frame);
  send_copy(frame.data(), frame.size());
  return true;
}

Link::Resent SimLink::resend(ChannelKind kind, std::byte* frame, std::size_t bytes) {
  HAWSER_ASSERT(kind == ChannelKind::ud_send && kept_.contains(frame));
  if (!network_.claim_room(self_, peer_, kind)) return Resent::no_room;
  ++network_.probes().datagrams_sent_again;
  send_copy(frame, bytes);
  return Resent::sent;
}

void SimLink::release(ChannelKind kind, std::byte* frame) {
  HAWSER_ASSERT(kind == ChannelKind::ud_send && kept_.erase(frame) == 1);
}

bool SimLink::ask(ChannelKind kind) {
  if (kind != ChannelKind::ring || channels_.empty() || channels_.has(kind)) return true;
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  network_.send_control(self_, peer_, Parcel::ring_ask);
  return true;
}

bool SimLink::give_back(ChannelKind kind) {
  HAWSER_ASSERT(channels_.has(kind));
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  network_.send_control(self_, peer_, Parcel::ring_give_back);
  channels_.remove(kind);
  return true;
}

/// Of a datagram nobody hears that its receiver has gone.
bool SimLink::is_away() const { return !may_lose_frames() && network_.is_closed(peer_); }

bool SimLink::recall(ChannelKind) {
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  network_.send_control(self_, peer_, Parcel::ring_recall);
  return true;
}

std::span<const std::byte> SimLink::front(ChannelKind) {
  const Arrival* const arrival = network_.mailbox(self_).ring_front(peer_);
  if (arrival == nullptr) return {};
  return {arrival->data.get(), arrival->bytes};
}

void SimLink::pop(ChannelKind) {
  ++network_.probes().taken_early;
  network_.scheduler().note("{} takes a frame of {} past progress", self_, peer_);
  network_.mailbox(self_).drop_ring_front(peer_);
  network_.free_room(peer_, self_, ChannelKind::ring);
}

std::int64_t SimLink::get(std::span<const MemoryPiece> local, std::span<const MemoryPiece> remote) {
  Random& random = network_.random();
  if (!channels_.has(ChannelKind::single_copy)) return -EPERM;
  if (random.one_in(network_.settings().single_copy_refused_one_in)) {
    network_.scheduler().note("{} is refused a copy from {}", self_, peer_);
    ++network_.probes().copies_refused;
    channels_.remove(ChannelKind::single_copy);
    return -EPERM;
  }
  ++network_.probes().copies;
  std::uint64_t bytes = 0;
  for (const MemoryPiece& piece : local) bytes += piece.bytes;
  return copy_pieces(local, remote, random.one_in(4) ? 1 + random.below(bytes) : bytes);
}

SimTransport::SimTransport(Network& network, const Identity& self, transport::Sink& sink)
    : network_(network), self_(self), sink_(sink) {}

SimTransport::~SimTransport() { network_.close(self_.index); }

Result<std::span<const std::byte>> SimTransport::address() {
  return std::as_bytes(std::span(&self_.index, 1));
}

SimLink& SimTransport::link_to(std::uint32_t peer) {
  std::unique_ptr<SimLink>& link = links_[peer];
  if (!link) link = std::make_unique<SimLink>(network_, self_.index, peer);
  return *link;
}

Result<Link*> SimTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  HAWSER_ASSERT(address.size() == sizeof(peer.index) &&
                std::memcmp(address.data(), &peer.index, sizeof(peer.index)) == 0);
  SimLink& link = link_to(peer.index);
  link.announced_ = true;
  if (network_.settings().has_datagrams) {
    link.add(ChannelKind::ud_send);
    return &link;
  }
  if (link.channels().empty()) network_.send_control(self_.index, peer.index, Parcel::hello);
  return &link;
}

bool SimTransport::progress() {
  network_.scheduler().maybe_pause(network_.settings().preempted_one_in);
  constexpr int arrivals_per_poll_max = 32;
  const int limit = network_.random().between(1, arrivals_per_poll_max);
  Mailbox& mailbox = network_.mailbox(self_.index);
  int taken = 0;
  for (; taken < limit && !mailbox.is_empty(); ++taken) handle(mailbox.take());
  return taken > 0;
}

void SimTransport::attach(SimLink& link) {
  if (!link.channels().empty()) return;
  link.add(ChannelKind::shared_queue);
  if (network_.random().one_in(network_.settings().single_copy_one_in))
    link.add(ChannelKind::single_copy);
  sink_.on_channels_changed(link);
}

void SimTransport::open_datagrams(SimLink& link) {
  link.announced_ = true;
  link.add(ChannelKind::ud_send);
  sink_.on_link(link, {self_.job, link.peer_, self_.epoch});
  sink_.on_channels_changed(link);
}

void SimTransport::handle(const Arrival& arrival) {
  SimLink& link = link_to(arrival.from);
  if (network_.settings().has_datagrams && link.channels().empty() &&
      arrival.parcel != Parcel::lost)
    open_datagrams(link);
  switch (arrival.parcel) {
    case Parcel::frame:
      sink_.on_frame(link, arrival.kind, {arrival.data.get(), arrival.bytes});
      network_.free_room(arrival.from, self_.index, arrival.kind);
      return;
    case Parcel::hello:
      if (!std::exchange(link.announced_, true)) {
        sink_.on_link(link, {self_.job, arrival.from, self_.epoch});
      } else {
        ++network_.probes().crossed_connects;
      }
      network_.send_control(self_.index, arrival.from, Parcel::welcome);
      attach(link);
      return;
    case Parcel::welcome:
      attach(link);
      return;
    case Parcel::ring_ask:
      if (!sink_.on_channel_asked(link, ChannelKind::ring)) {
        network_.send_control(self_.index, arrival.from, Parcel::ring_refuse);
        return;
      }
      link.open_incoming_ring();
      network_.send_control(self_.index, arrival.from, Parcel::ring_grant);
      return;
    case Parcel::ring_grant:
      ++network_.probes().rings_granted;
      link.add(ChannelKind::ring);
      sink_.on_channels_changed(link);
      return;
    case Parcel::ring_refuse:
      ++network_.probes().rings_refused;
      sink_.on_channel_refused(link, ChannelKind::ring);
      return;
    case Parcel::ring_give_back:
      ++network_.probes().rings_given_back;
      link.close_incoming_ring();
      sink_.on_channel_given_back(link, ChannelKind::ring);
      return;
    case Parcel::ring_recall:
      ++network_.probes().rings_recalled;
      sink_.on_channel_recalled(link, ChannelKind::ring);
      return;
    case Parcel::lost:
      link.close_incoming_ring();
      sink_.on_lost(link, "it has ended");
      return;
  }
}

}  // namespace hawser::sim
