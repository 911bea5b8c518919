// Connector: carries out what the handshake with one peer decides: makes its connection, opens it,
// and ends it once both sides have sent what they had, or at once if it broke.
//
// Ownership: owned by the link; owns the connection. Borrows the services.
// Threads:   the lane lock.
// Bounds:    one connection, and one more that is ending; as many handshake messages as Handshake
//            says.
#pragma once

#include <memory>

#include "transport/verbs/connection.hpp"
#include "transport/verbs/handshake.hpp"
#include "transport/verbs/link_services.hpp"

namespace hawser::transport::verbs {

class Connector {
 public:
  /// The link, told of what becomes of its connection.
  class Listener : public Connection::Owner {
   public:
    /// The peer asks; true grants it.
    virtual bool on_connection_asked() = 0;
    /// A grant came to nothing.
    virtual void on_connection_withdrawn() = 0;
    virtual void on_connection_open() = 0;
    virtual void on_connection_refused() = 0;
    /// Nothing more is to be sent by it.
    virtual void on_connection_closing() = 0;
    /// It is gone, and what was sent by it may not have arrived.
    virtual void on_connection_broken() = 0;
    /// It is over on both sides.
    virtual void on_connection_ended() = 0;
    /// serve() has something to do at some time.
    virtual void on_timed() = 0;
    /// finish_ending() is to be called when nothing more comes by its connection.
    virtual void on_ending() = 0;
    virtual void send_message(const ConnectionMessage& message) = 0;
  };

  Connector(LinkServices& services, std::uint32_t peer_index, Listener& listener)
      : services_(services), listener_(listener), handshake_(services.self.index, peer_index) {}

  /// Makes a connection and asks the peer for its other end; only while is_closed(). False if the
  /// adapter refuses another one.
  bool ask();
  /// Ends an open connection when all has left.
  void close();
  /// The peer is gone: ends at once whatever there is, without a word.
  void abandon();
  void on_message(const ConnectionMessage& message);
  /// Something came by CONNECTION.
  void on_used(const Connection& connection);
  /// Acts upon what its connection has come to: a break, or the end of what was under way.
  void serve(std::uint64_t now_ns);
  /// All that came by the connection that is ending was taken.
  void finish_ending();

  [[nodiscard]] bool is_closed() const { return handshake_.is_closed() && !ending_; }
  /// Null unless frames can be sent by it.
  [[nodiscard]] Connection* open() const { return is_open_ ? connection_.get() : nullptr; }
  /// Frames that the peer may have on their way to us: its connection's, though it may not be open
  /// yet on this side.
  [[nodiscard]] std::uint32_t receive_window() const {
    return connection_ ? connection_->receive_window() : ~std::uint32_t{0};
  }
  /// What was sent by the connection of this NUMBER is on its way or has arrived, or the listener
  /// is about to hear that it broke: which frames say nothing is settled when it has ended.
  [[nodiscard]] bool carries(std::uint32_t number) const;
  /// Breaks a connection that was open, though it may be about to close.
  void break_connection();
  /// Breaks the connection of this NUMBER, if there is one; then nothing comes by it any more.
  void stop(std::uint32_t number);
  /// When serve() has something to do: 0 at once, never_ns not at all.
  [[nodiscard]] std::uint64_t deadline_ns() const;

 private:
  bool make_connection();
  bool may_grant();
  void carry_out(const Handshake::Outcome& outcome, const ConnectionMessage* peer);
  void connect(const ConnectionMessage* peer);
  void enter_open();
  void begin_to_close();
  void end();
  void break_off();
  /// Ends the connection at once.
  void discard();
  void send(const HandshakeMessage& message);
  void note_timed();

  LinkServices& services_;
  Listener& listener_;
  Handshake handshake_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connection> ending_;
  bool is_open_ = false;
  bool is_draining_ = false;
  bool was_broken_ = false;
};

}  // namespace hawser::transport::verbs
