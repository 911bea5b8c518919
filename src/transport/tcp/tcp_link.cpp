#include "transport/tcp/tcp_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hawser::transport::tcp {

// Frames.

std::byte* TcpLink::reserve(ChannelKind kind, std::size_t bytes) {
  if (kind != ChannelKind::tcp || !connection_ || connection_->has_failed()) return nullptr;
  if (std::byte* const frame = reserve_now(bytes)) [[likely]]
    return frame;
  connection_->flush();  // what has left and nobody keeps makes room
  return reserve_now(bytes);
}

std::byte* TcpLink::reserve_now(std::size_t bytes) {
  reserved_ = services_.buffers.reserve(share_, bytes);
  reserved_bytes_ = bytes;
  if (reserved_ == nullptr || !services_.side.encrypts) return reserved_;
  sealed_ = services_.buffers.reserve(share_, bytes);
  if (sealed_ == nullptr) SendBuffers::release(std::exchange(reserved_, nullptr));
  return reserved_;
}

void TcpLink::commit(ChannelKind) {
  connection_->send(std::exchange(reserved_, nullptr), reserved_bytes_,
                    std::exchange(sealed_, nullptr));
}

bool TcpLink::send_once(ChannelKind, std::span<const std::byte> frame) {
  return connection_ && connection_->send_once(frame);
}

bool TcpLink::is_under_way(std::byte* frame) const {
  return connection_ && SendBuffers::note_of(frame).connection == connection_->number();
}

Link::Resent TcpLink::resend(ChannelKind, std::byte* frame, std::size_t bytes,
                             bool may_be_damaged) {
  if (!connection_ || connection_->has_failed()) return Resent::no_room;
  const bool is_queued = SendBuffers::note_of(frame).under_way > 0;
  if (is_under_way(frame) && (!may_be_damaged || is_queued)) return Resent::under_way;
  std::byte* sealed = nullptr;
  if (services_.side.encrypts) {
    sealed = services_.buffers.reserve(share_, bytes);
    if (sealed == nullptr) return Resent::no_room;
  }
  connection_->send(frame, bytes, sealed);
  return Resent::sent;
}

void TcpLink::break_connection() {
  if (connection_) connection_->fail("its rail has failed");
}

std::int64_t TcpLink::get(std::span<const MemoryPiece>, std::span<const MemoryPiece>) {
  return -EOPNOTSUPP;
}

void TcpLink::say(RecordType type) {
  if (connection_) connection_->send_control(type);
}

void TcpLink::on_record(Connection& by, RecordType type, std::span<const std::byte> body) {
  if (is_abandoned_) return;
  if (&by != connection_.get()) {
    on_record_of_attempt(by, type);
    return;
  }
  switch (type) {
    case RecordType::frame:
      services_.sink.on_frame(*this, ChannelKind::tcp, body);
      return;
    case RecordType::leave:
      is_away_ = true;
      return;
    case RecordType::come_back:
      is_away_ = false;
      return;
    case RecordType::accepted:
      by.fail("it confirmed its connection twice");
  }
}

/// One that is not in use yet: the peer may confirm one of ours, and nothing else.
void TcpLink::on_record_of_attempt(Connection& by, RecordType type) {
  const auto attempt = std::ranges::find_if(
      attempts_, [&](const Attempt& each) { return each.proven.get() == &by; });
  if (type != RecordType::accepted || attempt == attempts_.end()) {
    by.fail("it sent something out of its turn");
    return;
  }
  // At once: frames may follow in what was read together with this.
  adopt(std::move(attempt->proven), true);
}

void TcpLink::on_failed(Connection&) { note_changed(); }

void TcpLink::note_changed() {
  if (!std::exchange(is_changed, true)) services_.changed.push_back(this);
}

void TcpLink::note_timed() {
  if (deadline_ns() != never_ns && !std::exchange(is_timed, true)) services_.timed.push_back(this);
}

void TcpLink::check_peer() {
  if (connection_ && connection_->is_silent()) connection_->fail("its host does not answer");
}

// Connections.

void TcpLink::dial(const Address& address, std::uint64_t now_ns) {
  if (!dialer_) {
    const auto candidates = order_candidates(address, services_.own_addresses, services_.host_mark);
    dialer_.emplace(candidates, address.port, services_.timeout_ns());
  }
  if (connection_ || is_dialing() || is_abandoned_) return;
  passive_until_ns_ = never_ns;
  dialer_->begin(now_ns);
  follow_dialer(now_ns);
  note_timed();
}

void TcpLink::on_visit(std::unique_ptr<Connection> connection, std::uint64_t now_ns) {
  if (is_abandoned_) return;
  if (holds_back()) {
    held_ = std::move(connection);
    held_until_ns_ = now_ns + hold_ns;
    note_timed();
    return;
  }
  confirm(std::move(connection));
}

void TcpLink::confirm(std::unique_ptr<Connection> connection) {
  connection->send_control(RecordType::accepted);
  adopt(std::move(connection), false);
}

bool TcpLink::holds_back() const {
  if (connection_ && !connection_->has_failed()) return is_ours_;
  return is_dialing() && services_.side.self < peer_;
}

void TcpLink::adopt(std::unique_ptr<Connection> connection, bool is_ours) {
  stop_dialing();
  const bool replaces = connection_ != nullptr;
  connection_ = std::move(connection);
  is_ours_ = is_ours;
  is_away_ = false;
  passive_until_ns_ = never_ns;
  if (replaces) services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  channels_.add(ChannelKind::tcp);
  if (!std::exchange(is_announced, true)) services_.sink.on_link(*this, peer_);
  services_.sink.on_channels_changed(*this);
  if (connection_->has_failed()) note_changed();
}

void TcpLink::stop_dialing() {
  if (dialer_) dialer_->stop();
  attempts_.clear();
  held_.reset();
  held_until_ns_ = never_ns;
}

void TcpLink::serve(std::uint64_t now_ns) {
  if (is_abandoned_) {
    close();
    return;
  }
  if (connection_ && connection_->has_failed()) end_broken(now_ns);
  serve_attempts(now_ns);
  follow_dialer(now_ns);
  serve_held(now_ns);
  if (now_ns >= passive_until_ns_) lose("its connection broke, and it has not connected again");
  note_timed();
}

void TcpLink::end_broken(std::uint64_t now_ns) {
  connection_->receive_rest();
  connection_.reset();
  channels_ = {};
  services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  services_.sink.on_channels_changed(*this);
  if (!is_away()) look_for_peer(now_ns);
}

void TcpLink::look_for_peer(std::uint64_t now_ns) {
  if (dialer_) {
    dialer_->begin(now_ns);
  } else {
    passive_until_ns_ = now_ns + timeouts_passive * services_.timeout_ns();
  }
}

void TcpLink::come_back(std::uint64_t now_ns) {
  if (connection_) {
    say(RecordType::come_back);
  } else if (dialer_ && !is_dialing() && !is_away()) {
    dialer_->begin(now_ns);
    note_timed();
  }
}

void TcpLink::serve_attempts(std::uint64_t now_ns) {
  std::erase_if(attempts_, [&](Attempt& each) { return serve_attempt(each, now_ns); });
}

bool TcpLink::serve_attempt(Attempt& attempt, std::uint64_t now_ns) {
  if (attempt.proven) {
    if (!attempt.proven->has_failed()) return false;
    dialer_->on_failed(attempt.candidate, attempt.proven->failure(), now_ns);
    return true;
  }
  switch (attempt.caller->state()) {
    case GreetingState::connecting:
      return false;
    case GreetingState::greeting:
      dialer_->on_reached(attempt.candidate);
      return false;
    case GreetingState::failed:
      dialer_->on_failed(attempt.candidate, attempt.caller->failure(), now_ns);
      return true;
    case GreetingState::done:
      break;
  }
  const std::optional<Connection::Keys> keys = attempt.caller->keys();
  attempt.proven =
      std::make_unique<Connection>(services_, *this, attempt.caller->take_socket(), keys);
  attempt.caller.reset();
  return false;
}

void TcpLink::follow_dialer(std::uint64_t now_ns) {
  while (is_dialing()) {
    const Dialer::Action action = dialer_->next(now_ns);
    switch (action.kind) {
      case Dialer::Action::Kind::none:
        return;
      case Dialer::Action::Kind::start:
        start_attempt(action.candidate, now_ns);
        break;
      case Dialer::Action::Kind::abandon:
        std::erase_if(attempts_,
                      [&](const Attempt& each) { return each.candidate == action.candidate; });
        break;
      case Dialer::Action::Kind::give_up:
        lose(dialer_->report());
        return;
    }
  }
}

void TcpLink::start_attempt(std::size_t candidate, std::uint64_t now_ns) {
  auto socket = platform::TcpSocket::connect(dialer_->address(candidate), dialer_->port());
  if (!socket) {
    dialer_->on_failed(candidate, socket.error().sentence(), now_ns);
    return;
  }
  attempts_.push_back(
      {candidate,
       std::make_unique<Caller>(services_, peer_, std::move(*socket), [this] { note_changed(); }),
       nullptr});
}

void TcpLink::serve_held(std::uint64_t now_ns) {
  if (held_ && held_->has_failed()) {
    held_.reset();
    held_until_ns_ = never_ns;
  }
  if (held_ && (!holds_back() || now_ns >= held_until_ns_)) confirm(std::move(held_));
}

void TcpLink::lose(std::string_view cause) {
  if (held_) return;  // the peer is there
  passive_until_ns_ = never_ns;
  services_.sink.on_lost(*this, cause);
}

std::uint64_t TcpLink::deadline_ns() const {
  return std::min({dialer_ ? dialer_->deadline_ns() : never_ns, held_until_ns_, passive_until_ns_});
}

void TcpLink::abandon() {
  if (std::exchange(is_abandoned_, true)) return;
  channels_ = {};
  passive_until_ns_ = never_ns;
  if (dialer_) dialer_->stop();
  if (connection_) connection_->fail("the peer is gone");
  note_changed();  // attempts end there: this may be called from inside one of them
}

void TcpLink::close() {
  stop_dialing();
  connection_.reset();
}

}  // namespace hawser::transport::tcp
