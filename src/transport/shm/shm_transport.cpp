#include "transport/shm/shm_transport.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transport/shm/room.hpp"

namespace hawser::transport::shm {

namespace {

/// Frames taken from one channel in one progress call, so that none starves the others.
constexpr int frames_per_poll_max = 32;
/// Bytes of them in a ring: who sends as well has its turn before it has emptied a ring of long
/// frames. Measured (decision 0011).
constexpr std::size_t ring_bytes_per_poll_max = std::size_t{160} * 1024;
/// Rounds of progress that find something in a ring, for each that looks at the queue as well.
constexpr std::uint32_t ring_rounds_per_queue_look = 4;
/// Polls of a claimed but unwritten slot before we yield and ask whether its owner still lives.
constexpr std::uint32_t claimed_polls_per_look = 64;
/// Connections that may wait for their first packet.
constexpr std::size_t incoming_max = 1024;

/// What a process publishes: its local rank (32 bit), then the name of its abstract socket.
std::vector<std::byte> make_address(std::uint32_t local_rank, std::string_view name) {
  std::vector<std::byte> address(sizeof(local_rank) + name.size());
  std::memcpy(address.data(), &local_rank, sizeof(local_rank));
  std::memcpy(address.data() + sizeof(local_rank), name.data(), name.size());
  return address;
}

/// Room for a packet and one byte more, so that a longer packet is seen to be longer.
using PacketBuffer = std::array<std::byte, sizeof(AttachPacket) + 1>;

bool is_trusted(uid_t uid) { return uid == ::geteuid() || uid == 0; }

}  // namespace

Result<std::unique_ptr<ShmTransport>> ShmTransport::open(const Environment& environment,
                                                         const Settings& settings) {
  Result<Segment> segment = Segment::create(settings, *environment.ledger);
  if (!segment) return segment.take_error();
  return std::unique_ptr<ShmTransport>(
      new ShmTransport(environment, settings, std::move(*segment)));
}

ShmTransport::ShmTransport(const Environment& environment, const Settings& settings,
                           Segment segment)
    : environment_(environment),
      settings_(settings),
      segment_(std::move(segment)),
      queue_(segment_.queue_receiver()),
      own_word_(environment.wake_words[environment.local_rank]) {
  cookie_ = platform::random_number();
}

ShmTransport::~ShmTransport() {
  environment_.ledger->refund(memory::Account::attachments, attached_bytes_);
}

Result<std::span<const std::byte>> ShmTransport::address() {
  if (!listener_.is_open()) {
    const std::string name = fmt::format("hawser-{:016x}-{}-{:016x}", environment_.self.job,
                                         environment_.self.index, platform::random_number());
    Result<platform::LocalSocket> listener = platform::LocalSocket::listen(name);
    if (!listener) return listener.take_error();
    listener_ = std::move(*listener);
    address_ = make_address(environment_.local_rank, name);
  }
  return std::span<const std::byte>(address_);
}

ShmLink& ShmTransport::link_for(const Identity& peer) {
  ShmLink*& link = by_identity_[peer];
  if (link == nullptr) {
    links_.push_back(std::make_unique<ShmLink>(peer, static_cast<std::uint32_t>(links_.size() + 1),
                                               hostmem::Waker(environment_.fence_payer), own_word_,
                                               environment_.self < peer));
    environment_.ledger->charge(memory::Account::endpoints, sizeof(ShmLink));
    link = links_.back().get();
  }
  return *link;
}

AttachPacket ShmTransport::make_packet(const ShmLink& link, std::uint16_t kind) const {
  AttachPacket packet;
  packet.kind = kind;
  packet.local_rank = environment_.local_rank;
  packet.identity = environment_.self;
  std::copy(environment_.key.begin(), environment_.key.end(), packet.key);
  packet.owner = link.number();
  packet.queue_slots = segment_.queue_slots();
  packet.window_bytes = segment_.window_bytes();
  packet.cookie_address = reinterpret_cast<std::uint64_t>(&cookie_);
  packet.cookie = cookie_;
  return packet;
}

Result<Link*> ShmTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  ShmLink& link = link_for(peer);
  if (link.is_attached() || link.connection.is_open()) {
    link.is_announced = true;
    return &link;
  }
  std::uint32_t local_rank = 0;
  if (address.size() <= sizeof(local_rank))
    return Error(ErrorClass::other, "a peer published no address of shared memory");
  std::memcpy(&local_rank, address.data(), sizeof(local_rank));
  const std::string name(reinterpret_cast<const char*>(address.data()) + sizeof(local_rank),
                         address.size() - sizeof(local_rank));
  Result<platform::LocalSocket> connection = platform::LocalSocket::connect(name);
  if (!connection) return connection.take_error();
  const Result<platform::LocalSocket::Peer> owner = connection->peer();
  if (!owner || !is_trusted(owner->uid))
    return Error(ErrorClass::other, fmt::format("the socket '{}' belongs to another user", name));
  const AttachPacket hello = make_packet(link, AttachPacket::hello);
  if (!connection->send(std::as_bytes(std::span(&hello, 1)), segment_.file().get()))
    return Error(ErrorClass::other, fmt::format("the process behind '{}' has ended", name));
  link.connection = std::move(*connection);
  link.is_announced = true;
  ++connecting_;
  knock_at(local_rank);
  return &link;
}

void ShmTransport::knock_at(std::uint32_t local_rank) {
  if (local_rank >= environment_.wake_words.size()) return;
  hostmem::WakeWord& word = environment_.wake_words[local_rank];
  word.knock.store(1, std::memory_order_seq_cst);
  hostmem::Waker::rouse(word);
}

bool ShmTransport::progress() {
  bool moved = false;
  if (own_word_.knock.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    answer_knocks();
    moved = true;
  }
  // Who waits for a message of a ring has it sooner if the other places wait a little.
  if (poll_rings()) {
    if (++ring_rounds_ % ring_rounds_per_queue_look != 0) return true;
    moved = true;
  }
  if (poll_queue()) {
    moved = true;
    if (take_wish(segment_.queue_room(), environment_.fence_payer)) [[unlikely]]
      for (const auto& link : links_) link->wake_peer();
  }
  if (busy_links_ > 0) [[unlikely]]
    moved |= flush_answers();
  if (!retired_.empty()) [[unlikely]]
    free_retired_rings();
  return moved;
}

bool ShmTransport::is_drained() const {
  return busy_links_ == 0 || std::ranges::all_of(links_, [](const auto& link) {
           return !link->answer_to_send || link->is_away();
         });
}

void ShmTransport::leave() {
  segment_.set_away(true);
  for (const auto& link : links_) link->wake_peer();
}

std::uint64_t ShmTransport::wakes() const {
  std::uint64_t wakes = 0;
  for (const auto& link : links_) wakes += link->wakes();
  return wakes;
}

void ShmTransport::answer_knocks() {
  own_word_.knock.exchange(0, std::memory_order_seq_cst);
  if (listener_.is_open()) accept_connections();
  if (connecting_ == 0) return;
  // By index: what the sink does about a new link may add another.
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i]->connection.is_open()) poll_connection(*links_[i]);
}

void ShmTransport::accept_connections() {
  while (std::optional<platform::LocalSocket> connection = listener_.accept()) {
    // Anybody on this host can connect; a stranger must not keep us polling for a hello.
    const Result<platform::LocalSocket::Peer> peer = connection->peer();
    if (peer && is_trusted(peer->uid) && incoming_.size() < incoming_max)
      incoming_.push_back(std::move(*connection));
  }
  std::erase_if(incoming_,
                [&](platform::LocalSocket& connection) { return serve_incoming(connection); });
  // A connection whose hello has not arrived yet: look again at the next poll.
  if (!incoming_.empty()) own_word_.knock.store(1, std::memory_order_relaxed);
}

/// True if the connection is done with.
bool ShmTransport::serve_incoming(platform::LocalSocket& connection) {
  PacketBuffer bytes;
  std::size_t got = 0;
  platform::FileDescriptor segment;
  const auto received = connection.receive(bytes, &got, &segment);
  if (received == platform::LocalSocket::Received::nothing) return false;
  if (received == platform::LocalSocket::Received::closed) return true;
  const std::optional<AttachPacket> packet =
      parse_attach_packet(std::span(bytes).first(got), environment_.key);
  if (!packet || packet->kind != AttachPacket::hello || !segment.is_open()) return true;
  ShmLink& link = link_for(packet->identity);
  if (!std::exchange(link.is_announced, true)) environment_.sink->on_link(link, packet->identity);
  if (!attach(link, *packet, segment, connection)) return true;
  const AttachPacket welcome = make_packet(link, AttachPacket::welcome);
  if (connection.send(std::as_bytes(std::span(&welcome, 1)), segment_.file().get()))
    knock_at(packet->local_rank);
  return true;
}

void ShmTransport::poll_connection(ShmLink& link) {
  PacketBuffer bytes;
  std::size_t got = 0;
  platform::FileDescriptor segment;
  const auto received = link.connection.receive(bytes, &got, &segment);
  if (received == platform::LocalSocket::Received::nothing) return;
  bool attached = link.is_attached();
  if (received == platform::LocalSocket::Received::packet) {
    const std::optional<AttachPacket> packet =
        parse_attach_packet(std::span(bytes).first(got), environment_.key);
    if (packet && packet->identity == link.identity() && segment.is_open())
      attached = attach(link, *packet, segment, link.connection);
  }
  link.connection.close();
  --connecting_;
  if (!attached)
    environment_.sink->on_lost(link, "it closed the connection before it was attached");
}

bool ShmTransport::attach(ShmLink& link, const AttachPacket& packet,
                          const platform::FileDescriptor& segment,
                          platform::LocalSocket& connection) {
  const Result<platform::LocalSocket::Peer> peer = connection.peer();
  if (!peer || !is_trusted(peer->uid)) return false;
  if (packet.local_rank >= environment_.wake_words.size()) return false;
  const bool was_attached = link.is_attached();
  if (!link.attach(packet, segment, peer->pid, &environment_.wake_words[packet.local_rank],
                   settings_.single_copy))
    return false;
  if (was_attached) return true;
  const std::size_t mapped_bytes = packet.queue_slots * sizeof(QueueSlot);
  environment_.ledger->charge(memory::Account::attachments, mapped_bytes);
  attached_bytes_ += mapped_bytes;
  environment_.sink->on_channels_changed(link);
  return true;
}

bool ShmTransport::poll_rings() {
  bool moved = false;
  for (ShmLink* link : ring_links_) {
    moved |= poll_ring(*link);
    link->tell_of_room();
  }
  return moved;
}

bool ShmTransport::poll_ring(ShmLink& link) {
  RingReceiver& ring = *link.incoming_ring();
  FrameType type;
  std::size_t taken = 0;
  for (int i = 0; i < frames_per_poll_max && taken < ring_bytes_per_poll_max; ++i) {
    std::span<const std::byte> payload;
    const std::span<const std::byte> frame = ring.front(&type, &payload);
    if (frame.data() == nullptr) {
      if (i == 0) ring.rest();
      return i > 0;
    }
    taken += frame.size() + payload.size();
    link.note_arrival();
    if (type == FrameType::data) [[likely]] {
      if (payload.empty()) {
        environment_.sink->on_frame(link, ChannelKind::ring, frame);
      } else {
        environment_.sink->on_frame_apart(link, ChannelKind::ring, {frame, payload});
      }
    }
    ring.pop();
    if (environment_.sink->take_end_of_turn()) break;
  }
  return true;
}

bool ShmTransport::poll_queue() {
  bool moved = false;
  QueueSlot* slot = nullptr;
  std::uint32_t owner = 0;
  for (int i = 0; i < frames_per_poll_max; ++i) {
    const QueueReceiver::Head head = queue_.look(&slot, &owner);
    if (head == QueueReceiver::Head::empty) return moved;
    // Not moved, but not idle either: whoever waits must not sleep behind a claimed slot.
    if (head == QueueReceiver::Head::claimed) {
      wait_for_claimer(owner);
      return true;
    }
    claimed_polls_ = 0;
    const std::size_t frame_bytes = slot->frame_bytes;
    if (owner >= 1 && owner <= links_.size() && frame_bytes <= queue_frame_bytes_max)
      handle(*links_[owner - 1], slot->type, {slot->frame, frame_bytes});
    queue_.pop();
    moved = true;
  }
  return moved;
}

/// The head of the queue is claimed and not ready: its owner is writing, was preempted, or died.
void ShmTransport::wait_for_claimer(std::uint32_t owner) {
  if (++claimed_polls_ % claimed_polls_per_look != 0) return;
  ::sched_yield();
  const bool known = owner >= 1 && owner <= links_.size();
  if (known && links_[owner - 1]->is_alive()) return;
  claimed_polls_ = 0;
  // It may have written the frame just before it ended, after we looked.
  QueueSlot* slot = nullptr;
  if (queue_.look(&slot, &owner) == QueueReceiver::Head::ready) return;
  queue_.pop();
  if (known) lose(*links_[owner - 1]);
}

/// After what it had committed to its ring, nothing more comes from LINK.
void ShmTransport::lose(ShmLink& link) {
  if (link.incoming_ring() != nullptr) drop_incoming_ring(link);
  if (std::exchange(link.answer_to_send, std::nullopt)) --busy_links_;
  link.lose();
  environment_.sink->on_lost(link, "its process has ended");
}

/// A frame of the queue.
void ShmTransport::handle(ShmLink& link, FrameType type, std::span<const std::byte> frame) {
  switch (type) {
    case FrameType::data:
      environment_.sink->on_frame(link, ChannelKind::shared_queue, frame);
      return;
    case FrameType::ring_ask:
      answer_ring_ask(link);
      return;
    case FrameType::ring_grant: {
      RingGrant grant;
      if (frame.size() != sizeof(grant)) return;
      std::memcpy(&grant, frame.data(), sizeof(grant));
      if (link.accept_ring(grant)) environment_.sink->on_channels_changed(link);
      return;
    }
    case FrameType::ring_refuse:
      environment_.sink->on_channel_refused(link, ChannelKind::ring);
      return;
    case FrameType::ring_give_back:
      if (link.incoming_ring() == nullptr) return;
      drop_incoming_ring(link);
      environment_.sink->on_channel_given_back(link, ChannelKind::ring);
      return;
    case FrameType::ring_recall:
      environment_.sink->on_channel_recalled(link, ChannelKind::ring);
      return;
    case FrameType::ring_extend:
      extend_ring(link);
      return;
    case FrameType::ring_extended:
      if (link.accept_extension()) environment_.sink->on_channels_changed(link);
      return;
    case FrameType::long_data:  // the ring has dealt with these
    case FrameType::cell_data:
      return;
  }
}

/// Delivers what LINK's ring holds, and frees it.
void ShmTransport::drop_incoming_ring(ShmLink& link) {
  while (poll_ring(link)) {
  }
  std::erase(ring_links_, &link);
  retired_.push_back({&link, link.incoming_place(), link.incoming_ring()->is_extended()});
  link.close_incoming_ring();
  free_retired_rings();
  // Of no use any more, and in the way of the answer to the next question.
  if (link.answer_to_send && link.answer_to_send->type == FrameType::ring_extended) {
    link.answer_to_send.reset();
    --busy_links_;
  }
}

/// Those in whose cells no peer has to read any more.
void ShmTransport::free_retired_rings() {
  std::erase_if(retired_, [&](const RetiredRing& ring) {
    if (ring.link->has_own_cells_under_way()) return false;
    if (ring.is_extended) --long_rings_;
    segment_.free_ring(ring.place, ring.is_extended);
    return true;
  });
}

/// A question that can't be granted stays without an answer: the peer's ring goes on as it is, and
/// it asks again.
void ShmTransport::extend_ring(ShmLink& link) {
  RingReceiver* ring = link.incoming_ring();
  if (ring == nullptr || ring->is_extended() || link.answer_to_send) return;
  if (long_rings_ >= settings_.long_rings_max) return;
  // The peer would take cells of the pool before for cells of the new one.
  if (std::ranges::find(retired_, &link, &RetiredRing::link) != retired_.end()) return;
  if (!segment_.extend_ring(link.incoming_place())) return;
  ring->extend();
  ++long_rings_;
  link.answer_to_send = {FrameType::ring_extended, {}};
  ++busy_links_;
}

void ShmTransport::answer_ring_ask(ShmLink& link) {
  if (link.incoming_ring() != nullptr || link.answer_to_send) return;
  ShmLink::RingAnswer answer{FrameType::ring_refuse, {}};
  if (environment_.sink->on_channel_asked(link, ChannelKind::ring)) {
    if (const Result<Segment::Ring> ring = segment_.allocate_ring()) {
      const RingShape& shape = ring->shape;
      link.open_incoming_ring(*ring);
      ring_links_.push_back(&link);
      answer = {FrameType::ring_grant,
                {ring->offset, shape.line_count, shape.bulk_bytes, shape.long_bytes, shape.cells}};
    } else {
      environment_.sink->on_channel_given_back(link, ChannelKind::ring);
    }
  }
  link.answer_to_send = answer;
  ++busy_links_;
}

bool ShmTransport::flush_answers() {
  bool moved = false;
  for (const auto& link : links_) {
    // A peer that attached us first can ask before its own handshake has reached us.
    if (!link->answer_to_send || !link->is_attached()) continue;
    const auto body = std::as_bytes(std::span(&link->answer_to_send->grant, 1));
    if (!link->send_control(link->answer_to_send->type, body)) continue;
    link->answer_to_send.reset();
    --busy_links_;
    moved = true;
  }
  return moved;
}

}  // namespace hawser::transport::shm
