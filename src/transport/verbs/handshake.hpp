// Handshake: how two processes agree, by datagrams that may be lost, upon one connection between
// them and later upon its end.
//
//   asker                            other
//   closed                           closed
//     | ask ───────────────────────►   | may we? makes a queue pair, connects it
//   asking                           answering      (or: refuse ──► asker closed)
//     | ◄─────────────────── grant     |
//     | connects its own               |
//   open  confirm ─────────────────► open
//     ⋮                                ⋮             either side may begin to close
//   closing  close ────────────────► leaving
//     |                                | what was sent has left and come
//   closed ◄────────────────── closed  closed
//
// Every message is repeated until it is answered, ever more seldom; every message may come late or
// twice. A connection is known by the number of the attempt that led to it, and by whose attempt it
// was; attempts count up, so that a question of the past is known as such. When both ask at once,
// the one with the lower index goes on and the other one answers with the queue pair that it has:
// one connection comes of it.
//
// Pure state machine: events and `now` in, an Outcome out, which the caller carries out: it owns
// the queue pair, the datagrams and the clock. Threads: the lane lock. Bounds:    repetitions are
// not limited in number, since a peer that computes answers nothing; their
//            interval grows to interval_ns_max.
// Source:    the symmetric set-up of on-demand connections in MVICH; the messages are our own.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace hawser::transport::verbs {

using base::never_ns;

struct HandshakeMessage {
  enum class Kind : std::uint8_t { none, ask, grant, refuse, confirm, close, closed };
  Kind kind = Kind::none;
  bool is_senders_attempt = false;  // else the receiver's
  std::uint32_t attempt = 0;
};

class Handshake {
 public:
  static constexpr std::uint64_t interval_ns_min = 2'000'000;
  static constexpr std::uint64_t interval_ns_max = 1'000'000'000;

  enum class State : std::uint8_t { closed, asking, answering, open, closing, leaving };

  /// What the caller has to do, in this order.
  struct Outcome {
    enum class Change : std::uint8_t {
      none,
      connect,  // connect our queue pair (made when we asked, or now) with the peer's of the
                // message
      open,  // the connection can be used; where it is also to be connected first, see `connects`
      refused,  // the peer has no room; give our queue pair up
      drain,    // no new sends; call drained() when all of ours have left and the peer's were taken
      end,      // give the queue pair up
    };
    Change change = Change::none;
    bool connects = false;  // with `open`: connect first
    HandshakeMessage send;  // if its kind is not none
  };

  /// OWN_INDEX and PEER_INDEX differ; the lower one has its way when both ask.
  Handshake(std::uint32_t own_index, std::uint32_t peer_index)
      : has_priority_(own_index < peer_index) {}

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_closed() const { return state_ == State::closed; }

  /// We want a connection; only while closed. The caller has made a queue pair.
  Outcome ask(std::uint64_t now_ns);
  /// We want it to end, or it is broken; only while open. `drain` follows.
  Outcome close(std::uint64_t now_ns);
  /// What `drain` asked for is done.
  Outcome drained(std::uint64_t now_ns);
  /// The peer uses the connection: so it knows that it is open, though its confirm may be lost.
  Outcome on_use();
  /// MAY_GRANT: whether we have room for a connection, should the peer ask for a new one; it is
  /// asked at most once, and only if a connection follows from a yes.
  template <class MayGrant>
  Outcome on_message(const HandshakeMessage& message, std::uint64_t now_ns, MayGrant&& may_grant) {
    if (is_new_question(message)) return may_grant() ? answer(message, now_ns) : refuse(message);
    return on_other_message(message, now_ns);
  }

  /// There is nobody to agree with any more.
  void abandon() { rest(State::closed); }

  /// When on_time() has something to repeat.
  [[nodiscard]] std::uint64_t deadline_ns() const { return deadline_ns_; }
  Outcome on_time(std::uint64_t now_ns);

 private:
  using Kind = HandshakeMessage::Kind;
  using Change = Outcome::Change;

  [[nodiscard]] bool is_new_question(const HandshakeMessage& message) const;
  [[nodiscard]] bool is_past(const HandshakeMessage& question) const;
  [[nodiscard]] bool is_about_us(const HandshakeMessage& message) const;
  Outcome answer(const HandshakeMessage& question, std::uint64_t now_ns);
  Outcome refuse(const HandshakeMessage& question);
  Outcome on_other_message(const HandshakeMessage& message, std::uint64_t now_ns);
  Outcome on_question(const HandshakeMessage& message, std::uint64_t now_ns);
  Outcome on_grant(const HandshakeMessage& message);
  Outcome on_close(const HandshakeMessage& message, std::uint64_t now_ns);
  Outcome on_closed(const HandshakeMessage& message);
  [[nodiscard]] HandshakeMessage message(Kind kind) const;
  [[nodiscard]] Kind repeated() const;
  void enter(State state, std::uint64_t now_ns);
  void rest(State state);
  Outcome end(HandshakeMessage last);

  const bool has_priority_;
  State state_ = State::closed;
  bool is_drained_ = false;      // while closing
  bool is_our_attempt_ = false;  // of the connection that there is
  std::uint32_t attempt_ = 0;    // its number
  std::uint32_t own_attempts_ = 0;
  std::uint32_t peers_attempts_ = 0;  // the last that we have heard of
  bool was_refused_ = false;          // that one
  std::uint64_t interval_ns_ = interval_ns_min;
  std::uint64_t deadline_ns_ = never_ns;
};

}  // namespace hawser::transport::verbs
