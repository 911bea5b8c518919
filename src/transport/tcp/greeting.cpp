#include "transport/tcp/greeting.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hawser::transport::tcp {

namespace {

using platform::TcpSocket;

Nonce fresh_nonce() {
  Nonce nonce;
  platform::random_bytes(nonce);
  return nonce;
}

/// A message of a handshake is shorter than any socket's room at its beginning.
bool send_whole(TcpSocket& socket, std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  return socket.send({&piece, 1}).bytes == bytes.size();
}

constexpr std::size_t message_bytes_max =
    std::max({sizeof(Hello), sizeof(Challenge), sizeof(Proof)});

}  // namespace

Caller::Caller(LinkServices& services, const Identity& peer, TcpSocket socket, Purpose purpose,
               std::function<void()> news)
    : services_(services),
      socket_(std::move(socket)),
      handshake_(services.side, peer, fresh_nonce(), purpose),
      news_(std::move(news)),
      token_(services.watch(socket_, *this, true)) {}

Caller::~Caller() { services_.forget(socket_, token_); }

void Caller::on_ready(bool is_readable, bool is_writable) {
  if (state_ == GreetingState::connecting && (is_writable || is_readable)) say_hello();
  if (state_ == GreetingState::greeting && is_readable) hear();
}

void Caller::fail_if_silent(std::uint32_t timeout_s) {
  if (state_ == GreetingState::greeting && socket_.is_silent(timeout_s))
    change(GreetingState::failed, std::string(LinkServices::host_is_silent));
}

void Caller::say_hello() {
  if (const int error = socket_.error(); error != 0) {
    change(GreetingState::failed, platform::error_text(error));
    return;
  }
  services_.poll.change(socket_.fd(), token_, false);
  socket_.prepare(services_.timeout_s());
  change(GreetingState::greeting);
  send(handshake_.hello());
}

void Caller::hear() {
  std::array<std::byte, message_bytes_max> heard;  // NOLINT(*-member-init): used as far as filled
  const TcpSocket::Moved moved = socket_.receive(std::span(heard).first(handshake_.missing()));
  switch (moved.outcome) {
    case TcpSocket::Outcome::none:
      return;
    case TcpSocket::Outcome::closed:
      change(GreetingState::failed, "it closed the connection");
      return;
    case TcpSocket::Outcome::failed:
      change(GreetingState::failed, platform::error_text(moved.error));
      return;
    case TcpSocket::Outcome::some:
      break;
  }
  HandshakeStep step = handshake_.feed(std::span(heard).first(moved.bytes));
  if (step.state == HandshakeStep::State::refused) {
    change(GreetingState::failed, std::move(step.why));
    return;
  }
  send(step.to_send);
  if (step.state == HandshakeStep::State::done && state_ == GreetingState::greeting)
    change(GreetingState::done);
}

void Caller::send(std::span<const std::byte> bytes) {
  if (!send_whole(socket_, bytes))
    change(GreetingState::failed, "it closed the connection in the handshake");
}

void Caller::change(GreetingState state, std::string why) {
  state_ = state;
  failure_ = std::move(why);
  if (state == GreetingState::failed) services_.forget(socket_, token_);
  news_();
}

TcpSocket Caller::take_socket() {
  services_.forget(socket_, token_);
  return std::move(socket_);
}

std::optional<Connection::Keys> Caller::keys() const {
  if (!services_.side.encrypts) return std::nullopt;
  const SealKeys keys = handshake_.keys();
  return Connection::Keys{keys.of_connector, keys.of_acceptor};
}

Visitor::Visitor(LinkServices& services, TcpSocket socket, std::uint64_t expires_ns)
    : services_(services),
      socket_(std::move(socket)),
      handshake_(services.side, fresh_nonce(), expires_ns),
      token_(services.watch(socket_, *this, false)) {
  socket_.prepare(services_.timeout_s());
}

Visitor::~Visitor() { services_.forget(socket_, token_); }

void Visitor::on_ready(bool is_readable, bool /*is_writable*/) {
  if (state_ != GreetingState::greeting || !is_readable) return;
  std::array<std::byte, message_bytes_max> heard;  // NOLINT(*-member-init): used as far as filled
  const TcpSocket::Moved moved = socket_.receive(std::span(heard).first(handshake_.missing()));
  if (moved.outcome == TcpSocket::Outcome::none) return;
  if (moved.outcome != TcpSocket::Outcome::some) {
    change(GreetingState::failed);
    return;
  }
  HandshakeStep step = handshake_.feed(std::span(heard).first(moved.bytes), services_.clock());
  const bool was_sent = send_whole(socket_, step.to_send);
  refusal_ = std::move(step.why);
  if (step.state == HandshakeStep::State::refused || !was_sent) {
    change(GreetingState::failed);
  } else if (step.state == HandshakeStep::State::done) {
    change(GreetingState::done);
  }
}

void Visitor::change(GreetingState state) {
  state_ = state;
  if (state == GreetingState::failed) services_.forget(socket_, token_);
  services_.has_visitor_news = true;
}

TcpSocket Visitor::take_socket() {
  services_.forget(socket_, token_);
  return std::move(socket_);
}

std::optional<Connection::Keys> Visitor::keys() const {
  if (!services_.side.encrypts) return std::nullopt;
  const SealKeys keys = handshake_.keys();
  return Connection::Keys{keys.of_acceptor, keys.of_connector};
}

}  // namespace hawser::transport::tcp
