#include "sim/sim_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "sim/copy_pieces.hpp"

namespace hawser::sim {

using transport::Link;
using transport::MemoryPiece;

namespace {

/// Channels that stand upon a connection.
bool is_connected(ChannelKind kind) {
  return kind == ChannelKind::rc_send || kind == ChannelKind::rc_fast_path ||
         kind == ChannelKind::rc_rdma;
}

/// By which a frame arrives that was committed to KIND.
ChannelKind kind_of_frames(ChannelKind kind) {
  return kind == ChannelKind::rc_rdma ? ChannelKind::rc_send : kind;
}

}  // namespace

SimLink::SimLink(Network& network, transport::Sink& sink, Holdings& holdings, transport::Rail by,
                 const bool& is_up, std::uint32_t self, std::uint32_t peer)
    : network_(network),
      sink_(sink),
      rail_(by),
      is_up_(is_up),
      self_(self),
      peer_(peer),
      joint_copies_(network, self, peer),
      connection_(network, sink, *this, holdings, self, peer) {
  earnable_.add(network.settings().has_datagrams ? ChannelKind::rc_send : ChannelKind::ring);
  network.note_link(self, peer);
  if (by.number > 0) ++network.probes().rails_joined;
}

SimLink::~SimLink() {
  // Also of a process that failed or was killed: nobody forgets a frame.
  HAWSER_ASSERT(kept_.empty());
}

transport::ChannelSet SimLink::possible_channels() const {
  if (network_.settings().has_datagrams)
    return {ChannelKind::ud_send, ChannelKind::rc_send, ChannelKind::rc_fast_path,
            ChannelKind::rc_rdma, ChannelKind::ud_zero_copy};
  return {ChannelKind::shared_queue, ChannelKind::ring, ChannelKind::single_copy};
}

std::size_t SimLink::frame_bytes_max(ChannelKind kind) const {
  switch (kind) {
    case ChannelKind::ring:
      return network_.settings().ring_frame_bytes_max;
    case ChannelKind::rc_fast_path:
      return network_.settings().fast_path_frame_bytes_max;
    default:
      return network_.settings().queue_frame_bytes_max;
  }
}

bool SimLink::has_room(ChannelKind kind) {
  return is_connected(kind) ? network_.connections().claim_room(connection_.pair())
                            : network_.claim_room(self_, peer_, kind);
}

std::byte* SimLink::reserve(ChannelKind kind, std::size_t bytes) {
  HAWSER_ASSERT(channels_.has(kind) && kind != ChannelKind::single_copy);
  HAWSER_ASSERT(!reserved_ && bytes <= frame_bytes_max(kind));
  if (!has_room(kind)) return nullptr;
  // Exactly as long as asked for, so that a sanitizer sees every byte beyond.
  reserved_ = std::make_unique<std::byte[]>(bytes);
  reserved_bytes_ = bytes;
  return reserved_.get();
}

void SimLink::commit(ChannelKind kind) {
  HAWSER_ASSERT(reserved_);
  if (!transport::keeps_frames(kind)) {
    network_.send_frame(self_, peer_, kind, std::move(reserved_), reserved_bytes_);
    return;
  }
  std::byte* const frame = reserved_.get();
  const Connections::PairNumber pair = is_connected(kind) ? connection_.pair() : Connections::none;
  kept_.emplace(frame, KeptFrame{std::move(reserved_), pair, std::exchange(chained_, nothing)});
  dispatch(kind, {frame, reserved_bytes_});
}

void SimLink::dispatch(ChannelKind kind, std::span<const std::byte> frame) {
  if (rail_.number > 0) ++network_.probes().frames_by_rails;
  auto copy = std::make_unique<std::byte[]>(frame.size());
  std::ranges::copy(frame, copy.get());
  if (is_connected(kind)) {
    network_.connections().send(connection_.pair(),
                                {self_, Parcel::frame, kind, std::move(copy), frame.size()});
  } else {
    network_.send_frame(self_, peer_, kind, std::move(copy), frame.size());
  }
}

bool SimLink::may_lose_frames() const { return network_.settings().has_datagrams; }

bool SimLink::send_once(ChannelKind kind, std::span<const std::byte> frame) {
  if (!transport::keeps_frames(kind)) return Link::send_once(kind, frame);
  // A datagram always finds room.
  dispatch(is_connected(kind) && has_room(kind) ? kind : ChannelKind::ud_send, frame);
  return true;
}

Link::Resent SimLink::resend(ChannelKind kind, std::byte* frame, std::size_t bytes,
                             bool may_be_damaged) {
  HAWSER_ASSERT(transport::keeps_frames(kind) && kept_.contains(frame));
  if (is_connected(kind) && connection_.carries(kept_.at(frame).pair)) {
    if (!may_be_damaged) return Resent::under_way;
  } else if (is_connected(kind)) {
    ++network_.probes().frames_rescued;
  }
  ++network_.probes().datagrams_sent_again;
  dispatch(ChannelKind::ud_send, {frame, bytes});
  return Resent::sent;
}

bool SimLink::is_under_way(std::byte* frame) const {
  const Connections::PairNumber pair = kept_.at(frame).pair;
  return pair != Connections::none && connection_.carries(pair);
}

Link::Resent SimLink::send_copy(std::span<const std::byte> frame) {
  ++network_.probes().copied_to_rails;
  dispatch(ChannelKind::ud_send, frame);
  return Resent::sent;
}

void SimLink::release(ChannelKind kind, std::byte* frame) {
  HAWSER_ASSERT(transport::keeps_frames(kind) && kept_.erase(frame) == 1);
}

bool SimLink::ask(ChannelKind kind) {
  if (channels_.empty() || channels_.has(kind)) return true;
  HAWSER_ASSERT(earnable_.has(kind));
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  switch (kind) {
    case ChannelKind::rc_send:
      connection_.ask();
      break;
    case ChannelKind::rc_fast_path:
      connection_.ask_for_fast_path();
      break;
    default:
      network_.send_control(self_, peer_, Parcel::ask);
  }
  return true;
}

bool SimLink::give_back(ChannelKind kind) {
  HAWSER_ASSERT(channels_.has(kind));
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  switch (kind) {
    case ChannelKind::rc_send:
      connection_.give_back();
      break;
    case ChannelKind::rc_fast_path:
      connection_.give_back_fast_path();
      break;
    default:
      network_.send_control(self_, peer_, Parcel::give_back);
      remove(kind);
  }
  return true;
}

/// Of a datagram nobody hears that its receiver has gone.
bool SimLink::is_away() const { return !may_lose_frames() && network_.is_closed(peer_); }

bool SimLink::recall(ChannelKind kind) {
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  if (kind == ChannelKind::rc_fast_path) {
    connection_.recall_fast_path();
  } else {
    network_.send_control(self_, peer_, Parcel::recall);
  }
  return true;
}

std::span<const std::byte> SimLink::front(ChannelKind kind) {
  const Arrival* const arrival = network_.mailbox(self_).front(peer_, kind);
  if (arrival == nullptr || (is_connected(kind) && arrival->pair != connection_.pair())) return {};
  return {arrival->data.get(), arrival->bytes};
}

void SimLink::pop(ChannelKind kind) {
  ++network_.probes().taken_early;
  network_.scheduler().note("{} takes a frame of {} past progress", self_, peer_);
  Mailbox& mailbox = network_.mailbox(self_);
  const Connections::PairNumber senders_pair = mailbox.front(peer_, kind)->senders_pair;
  mailbox.drop_front(peer_, kind);
  free_room(kind, senders_pair);
}

void SimLink::free_room(ChannelKind kind, Connections::PairNumber senders_pair) {
  if (is_connected(kind)) {
    network_.connections().free_room(senders_pair);
  } else {
    network_.free_room(peer_, self_, kind);
  }
}

std::int64_t SimLink::get(std::span<const MemoryPiece> local, std::span<const MemoryPiece> remote) {
  Random& random = network_.random();
  if (!channels_.has(ChannelKind::single_copy)) return -EPERM;
  if (network_.is_dead(peer_)) return -ESRCH;
  if (random.one_in(network_.settings().single_copy_refused_one_in)) {
    network_.scheduler().note("{} is refused a copy from {}", self_, peer_);
    ++network_.probes().copies_refused;
    channels_.remove(ChannelKind::single_copy);
    return -EPERM;
  }
  ++network_.probes().copies;
  return copy_some(random, local, remote);
}

bool SimLink::does_one_copy_pay(std::size_t) {
  return network_.random().one_in(network_.settings().one_copy_pays_one_in);
}

Result<std::unique_ptr<transport::HeldMemory>> SimLink::hold(std::uint64_t address,
                                                             std::size_t bytes) {
  if (network_.random().one_in(network_.settings().hold_refused_one_in)) {
    ++network_.probes().holds_refused;
    return base::Error(base::ErrorClass::no_mem, "the simulated adapter has no room");
  }
  return std::unique_ptr<transport::HeldMemory>(
      std::make_unique<SimHeldMemory>(network_.held_memories(), address, bytes));
}

/// Any answer is right: nobody may rely upon it.
bool SimLink::is_registered(std::uint64_t, std::size_t) { return network_.random().one_in(4); }

bool SimLink::start(const transport::Operation& operation) {
  HAWSER_ASSERT(channels_.has(ChannelKind::rc_rdma));
  if (!connection_.start(operation)) return false;
  if (operation.is_chained) chained_ = operation.token;
  return true;
}

std::uint32_t SimLink::operations_epoch() const {
  return connection_.is_open() ? connection_.pair() : Connections::none;
}

void SimLink::stop_operations(std::uint32_t epoch) { network_.connections().stop(epoch); }

void SimLink::on_operation_ended(std::uint64_t token, bool was_done) {
  for (auto& [frame, kept] : kept_) {
    if (was_done || kept.behind != token) continue;
    ++network_.probes().frames_voided;
    *frame = transport::void_frame_class;
  }
  sink_.on_operation_done(*this, token, was_done);
}

Result<transport::Clearance> SimLink::expect(const transport::DirectMessage& message) {
  const auto clear = network_.crossings().expect(self_, peer_, message);
  if (!clear) return base::Error(base::ErrorClass::no_mem, "too many messages come");
  return transport::Clearance::of(*clear);
}

void SimLink::stop_expecting(std::uint64_t token) {
  network_.crossings().stop_expecting(self_, token);
}

bool SimLink::send_cleared(const transport::DirectMessage& message,
                           std::span<const std::byte> clearance) {
  return network_.crossings().send(self_, peer_, message, clearance);
}

void SimLink::abandon() {
  if (std::exchange(is_lost_, true)) return;
  connection_.abandon();
  end_joint_copies();
  channels_ = {};
  incoming_ = {};
}

SimTransport::SimTransport(Network& network, const Identity& self, std::uint8_t rail,
                           transport::Sink& sink, const channel::PolicySettings& limits)
    : network_(network),
      self_(self),
      rail_(network.settings().is_alone && network.settings().rails == 1
                ? transport::Rail{}
                : transport::Rail{network.settings().name, rail}),
      name_(rail == 0 ? std::string(network.settings().name)
                      : fmt::format("{}.{}", network.settings().name, rail)),
      port_(network.port_of(self.index, rail)),
      sink_(sink),
      holdings_(network.scheduler(), limits) {}

SimTransport::~SimTransport() { network_.close(port_); }

Result<std::span<const std::byte>> SimTransport::address() {
  return std::as_bytes(std::span(&self_.index, 1));
}

SimLink& SimTransport::link_to(std::uint32_t peer) {
  std::unique_ptr<SimLink>& link = links_[peer];
  if (!link)
    link = std::make_unique<SimLink>(network_, sink_, holdings_, rail_, is_up_, port_,
                                     network_.port_of(peer, rail_.number));
  return *link;
}

Result<Link*> SimTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  HAWSER_ASSERT(address.size() == sizeof(peer.index) &&
                std::memcmp(address.data(), &peer.index, sizeof(peer.index)) == 0);
  SimLink& link = link_to(peer.index);
  if (link.is_lost_) return base::Error(base::ErrorClass::proc_failed, "it has ended");
  link.announced_ = true;
  if (network_.settings().has_datagrams) {
    add_datagrams(link);
    return &link;
  }
  if (link.channels().empty()) network_.send_control(port_, link.peer_, Parcel::hello);
  return &link;
}

bool SimTransport::progress() {
  network_.scheduler().maybe_pause(network_.settings().preempted_one_in);
  constexpr int arrivals_per_poll_max = 32;
  const int limit = network_.random().between(1, arrivals_per_poll_max);
  Mailbox& mailbox = network_.mailbox(port_);
  int taken = 0;
  for (; taken < limit && !mailbox.is_empty(); ++taken) handle(mailbox.take());
  bool moved = taken > 0;
  for (SimLink* const link : std::exchange(holdings_.abandoned, {}))
    link->connection_.report_abandoned();
  if (holdings_.restless > 0)
    for (const auto& [peer, link] : links_) moved |= !link->is_lost_ && link->connection_.serve();
  return moved;
}

std::uint64_t SimTransport::deadline_ns() const {
  if (!holdings_.abandoned.empty()) return 0;
  std::uint64_t first = base::never_ns;
  if (holdings_.restless == 0) return first;
  for (const auto& [peer, link] : links_)
    if (!link->is_lost_) first = std::min(first, link->connection_.deadline_ns());
  return first;
}

std::size_t SimTransport::datagram_bytes_max() const {
  return network_.settings().has_datagrams ? network_.settings().queue_frame_bytes_max : 0;
}

void SimTransport::attach(SimLink& link) {
  if (!link.channels().empty()) return;
  link.add(ChannelKind::shared_queue);
  if (network_.random().one_in(network_.settings().single_copy_one_in))
    link.add(ChannelKind::single_copy);
  sink_.on_channels_changed(link);
}

void SimTransport::add_datagrams(SimLink& link) const {
  link.add(ChannelKind::ud_send);
  if (network_.settings().crossings_max > 0) link.add(ChannelKind::ud_zero_copy);
}

void SimTransport::open_datagrams(SimLink& link) {
  link.announced_ = true;
  add_datagrams(link);
  sink_.on_link(link, identity_of(link));
  sink_.on_channels_changed(link);
}

void SimTransport::handle(const Arrival& arrival) {
  if (arrival.parcel == Parcel::port_down || arrival.parcel == Parcel::port_up) {
    set_up(arrival.parcel == Parcel::port_up);
    return;
  }
  SimLink& link = link_to(network_.process_of(arrival.from));
  if (arrival.parcel == Parcel::crossing) {
    handle_crossing(link, arrival);
    return;
  }
  const bool is_frame = arrival.parcel == Parcel::frame;
  if (!link.is_lost_) handle(link, arrival);
  if (is_frame) link.free_room(arrival.kind, arrival.senders_pair);
}

void SimTransport::set_up(bool is_up) {
  if (std::exchange(is_up_, is_up) == is_up) return;
  for (const auto& [peer, link] : links_)
    if (link->announced_ && !link->is_lost_) sink_.on_link_state(*link);
}

/// Of our own memory: it matters also if the peer is lost.
void SimTransport::handle_crossing(SimLink& link, const Arrival& arrival) {
  Crossings::News news{};
  std::memcpy(&news, arrival.data.get(), sizeof(news));
  if (news.kind == Crossings::News::Kind::cleared) {
    sink_.on_clearance(link, news.token, transport::Clearance::of(news.clear));
  } else {
    sink_.on_operation_done(link, news.token, news.was_done);
  }
}

void SimTransport::handle(SimLink& link, const Arrival& arrival) {
  if (arrival.parcel == Parcel::lost) {
    link.is_lost_ = true;
    link.end_joint_copies();
    link.set_incoming(ChannelKind::ring, false);
    link.connection_.forget();
    if (link.announced_) sink_.on_lost(link, "it has ended");
    return;
  }
  if (network_.settings().has_datagrams && link.channels().empty()) open_datagrams(link);
  if (arrival.parcel == Parcel::broken) {
    link.connection_.on_broken(arrival.pair);
    return;
  }
  if (arrival.parcel == Parcel::operation_ended) {
    if (arrival.pair == link.connection_.pair()) link.connection_.report_operations();
    return;
  }
  if (arrival.pair != Connections::none && !link.connection_.takes(arrival)) return;
  switch (arrival.parcel) {
    case Parcel::frame:
      sink_.on_frame(link, kind_of_frames(arrival.kind), {arrival.data.get(), arrival.bytes});
      return;
    case Parcel::handshake:
      link.connection_.on_letter({arrival.data.get(), arrival.bytes});
      return;
    case Parcel::hello:
      handle_hello(link);
      return;
    case Parcel::welcome:
      attach(link);
      return;
    default:
      handle_notice(link, arrival.parcel, arrival.kind);
  }
}

void SimTransport::handle_hello(SimLink& link) {
  if (!std::exchange(link.announced_, true)) {
    sink_.on_link(link, identity_of(link));
  } else {
    ++network_.probes().crossed_connects;
  }
  network_.send_control(port_, link.peer_, Parcel::welcome);
  attach(link);
}

/// Of channels of one direction.
void SimTransport::handle_notice(SimLink& link, Parcel parcel, ChannelKind kind) {
  if (kind == ChannelKind::rc_fast_path) {
    link.connection_.on_notice(parcel);
    return;
  }
  switch (parcel) {
    case Parcel::ask:
      if (!sink_.on_channel_asked(link, kind)) {
        network_.send_control(port_, link.peer_, Parcel::refuse);
        return;
      }
      link.set_incoming(kind, true);
      network_.send_control(port_, link.peer_, Parcel::grant);
      return;
    case Parcel::grant:
      ++network_.probes().rings_granted;
      link.add(kind);
      sink_.on_channels_changed(link);
      return;
    case Parcel::refuse:
      ++network_.probes().rings_refused;
      sink_.on_channel_refused(link, kind);
      return;
    case Parcel::give_back:
      ++network_.probes().rings_given_back;
      link.set_incoming(kind, false);
      sink_.on_channel_given_back(link, kind);
      return;
    case Parcel::recall:
      ++network_.probes().rings_recalled;
      sink_.on_channel_recalled(link, kind);
      return;
    default:
      return;
  }
}

}  // namespace hawser::sim
