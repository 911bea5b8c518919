// Caller and Visitor: a socket from its first byte to the end of the handshake, on the side that
// connects and on the side that accepts.
//
// Ownership: of their socket, until it is taken for a Connection; they borrow the services.
// Threads:   the lane lock.
// Bounds:    what handshake.hpp keeps, and the socket.
// Invariant: like a Connection, neither ends by itself.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "transport/tcp/connection.hpp"
#include "transport/tcp/link_services.hpp"

namespace hawser::transport::tcp {

enum class GreetingState : std::uint8_t {
  connecting,  // of a Caller: nobody has accepted it yet
  greeting,
  done,  // the peer is who it should be
  failed
};

class Caller final : public Polled {
 public:
  /// NEWS is called whenever its state changes, from inside on_ready().
  Caller(LinkServices& services, const Identity& peer, platform::TcpSocket socket, Purpose purpose,
         std::function<void()> news);
  ~Caller() override;

  [[nodiscard]] GreetingState state() const { return state_; }
  /// Why it has failed; for people.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  void on_ready(bool is_readable, bool is_writable) override;
  /// It fails if its host has accepted it and answered nothing for TIMEOUT_S since.
  void fail_if_silent(std::uint32_t timeout_s);
  /// Once it is done.
  platform::TcpSocket take_socket();
  [[nodiscard]] std::optional<Connection::Keys> keys() const;

 private:
  void say_hello();
  void hear();
  void change(GreetingState state, std::string why = {});
  void send(std::span<const std::byte> bytes);

  LinkServices& services_;
  platform::TcpSocket socket_;
  Connector handshake_;
  const std::function<void()> news_;
  std::uint64_t token_;
  GreetingState state_ = GreetingState::connecting;
  std::string failure_;
};

class Visitor final : public Polled {
 public:
  Visitor(LinkServices& services, platform::TcpSocket socket, std::uint64_t expires_ns);
  ~Visitor() override;

  [[nodiscard]] GreetingState state() const { return state_; }
  [[nodiscard]] std::uint64_t expires_ns() const { return handshake_.expires_ns(); }
  /// Why it was turned away; empty if it has gone by itself.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  void on_ready(bool is_readable, bool is_writable) override;
  /// Once it is done: who it is.
  [[nodiscard]] const Identity& peer() const { return handshake_.peer(); }
  [[nodiscard]] Purpose purpose() const { return handshake_.purpose(); }
  platform::TcpSocket take_socket();
  [[nodiscard]] std::optional<Connection::Keys> keys() const;

 private:
  void change(GreetingState state);

  LinkServices& services_;
  platform::TcpSocket socket_;
  Acceptor handshake_;
  std::uint64_t token_;
  GreetingState state_ = GreetingState::greeting;
  std::string refusal_;
};

}  // namespace hawser::transport::tcp
