// Attempts: tries to reach a peer, by its addresses in the order and at the times that a Dialer
// says, until one has led to it and it has said that the connection counts.
//
// Each is a Caller first, then the connection that the peer is to confirm.
// Ownership: owns its sockets until one is taken; borrows the services and who is told.
// Threads:   the lane lock.
// Bounds:    those of Dialer.
// Invariant: an attempt ends in serve(), stop() or take() alone, never inside of its own functions.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/tcp/connection.hpp"
#include "transport/tcp/dialer.hpp"
#include "transport/tcp/greeting.hpp"

namespace hawser::transport::tcp {

class Attempts {
 public:
  /// OWNER hears of the connections' records and failures, NEWS is called when serve() has
  /// something to do. FROM: for a further connection, by that interface alone; it stays where it
  /// is.
  Attempts(LinkServices& services, Connection::Owner& owner, const Identity& peer, Dialer dialer,
           std::function<void()> news, const Interface* from = nullptr)
      : services_(services),
        owner_(owner),
        peer_(peer),
        dialer_(std::move(dialer)),
        news_(std::move(news)),
        from_(from) {}

  void begin(Purpose purpose, std::uint64_t now_ns);
  /// Ends all that are under way.
  void stop();
  /// No more are begun; those under way are ended by stop().
  void forgo() { dialer_.stop(); }
  [[nodiscard]] bool is_dialing() const { return dialer_.is_dialing(); }
  /// Does what is due. False: it has given up just now; see report().
  bool serve(std::uint64_t now_ns);
  /// Those that have led to a host which has answered nothing for TIMEOUT_S since fail.
  void fail_silent(std::uint32_t timeout_s);
  [[nodiscard]] std::uint64_t deadline_ns() const { return dialer_.deadline_ns(); }
  /// What was tried; for people.
  [[nodiscard]] std::string report() const { return dialer_.report(); }

  /// The peer has confirmed CONNECTION, which is its owner's from now on; null if that is none of
  /// these.
  std::unique_ptr<Connection> take(const Connection& connection);

 private:
  struct Attempt {
    std::size_t candidate;
    std::unique_ptr<Caller> caller;
    std::unique_ptr<Connection> proven;
  };

  bool follow_dialer(std::uint64_t now_ns);
  void start(std::size_t candidate, std::uint64_t now_ns);
  Result<platform::TcpSocket> connect(std::size_t candidate);
  /// True if it has ended.
  bool serve(Attempt& attempt, std::uint64_t now_ns);

  LinkServices& services_;
  Connection::Owner& owner_;
  const Identity peer_;
  Dialer dialer_;
  const std::function<void()> news_;
  const Interface* const from_;
  Purpose purpose_ = Purpose::begin;
  std::vector<Attempt> attempts_;
};

}  // namespace hawser::transport::tcp
