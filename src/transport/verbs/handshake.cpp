#include "transport/verbs/handshake.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace hawser::transport::verbs {

Handshake::Outcome Handshake::ask(std::uint64_t now_ns) {
  HAWSER_ASSERT(state_ == State::closed);
  is_our_attempt_ = true;
  attempt_ = ++own_attempts_;
  enter(State::asking, now_ns);
  return {.send = message(Kind::ask)};
}

Handshake::Outcome Handshake::close(std::uint64_t now_ns) {
  HAWSER_ASSERT(state_ == State::open);
  is_drained_ = false;
  enter(State::closing, now_ns);
  deadline_ns_ = never_ns;  // the peer hears of it when we have nothing more to send
  return {.change = Change::drain, .send = {}};
}

Handshake::Outcome Handshake::drained(std::uint64_t now_ns) {
  if (state_ == State::leaving) return end(message(Kind::closed));
  HAWSER_ASSERT(state_ == State::closing);
  is_drained_ = true;
  enter(State::closing, now_ns);
  return {.send = message(Kind::close)};
}

Handshake::Outcome Handshake::on_use() {
  if (state_ != State::answering) return {};
  rest(State::open);
  return {.change = Change::open, .send = {}};
}

Handshake::Outcome Handshake::on_time(std::uint64_t now_ns) {
  if (now_ns < deadline_ns_) return {};
  interval_ns_ = std::min(2 * interval_ns_, interval_ns_max);
  deadline_ns_ = now_ns + interval_ns_;
  return {.send = message(repeated())};
}

/// One that leads to a connection, or a refusal, and not to the repetition of an answer.
bool Handshake::is_new_question(const HandshakeMessage& message) const {
  if (message.kind != Kind::ask || is_past(message)) return false;
  // A peer that asks anew while we still answer its last question has given that one up.
  return state_ == State::closed || (state_ == State::answering && message.attempt != attempt_);
}

/// A question that was answered and is settled. (One that was refused may be repeated, since the
/// refusal may be lost.)
bool Handshake::is_past(const HandshakeMessage& question) const {
  const auto ahead = static_cast<std::int32_t>(question.attempt - peers_attempts_);
  if (ahead != 0) return ahead < 0;
  return state_ == State::closed && !was_refused_;
}

bool Handshake::is_about_us(const HandshakeMessage& message) const {
  return state_ != State::closed && message.attempt == attempt_ &&
         message.is_senders_attempt != is_our_attempt_;
}

Handshake::Outcome Handshake::answer(const HandshakeMessage& question, std::uint64_t now_ns) {
  is_our_attempt_ = false;
  attempt_ = question.attempt;
  peers_attempts_ = question.attempt;
  was_refused_ = false;
  enter(State::answering, now_ns);
  return {.change = Change::connect, .send = message(Kind::grant)};
}

Handshake::Outcome Handshake::refuse(const HandshakeMessage& question) {
  peers_attempts_ = question.attempt;
  was_refused_ = true;
  return {.send = {Kind::refuse, false, question.attempt}};
}

Handshake::Outcome Handshake::on_other_message(const HandshakeMessage& message,
                                               std::uint64_t now_ns) {
  switch (message.kind) {
    case Kind::none:
      return {};
    case Kind::ask:
      return on_question(message, now_ns);
    case Kind::grant:
      return on_grant(message);
    case Kind::refuse:
      if (state_ != State::asking || !is_about_us(message)) return {};
      rest(State::closed);
      return {.change = Change::refused, .send = {}};
    case Kind::confirm:
      return is_about_us(message) ? on_use() : Outcome{};
    case Kind::close:
      return on_close(message, now_ns);
    case Kind::closed:
      return on_closed(message);
  }
  return {};
}

Handshake::Outcome Handshake::on_question(const HandshakeMessage& message, std::uint64_t now_ns) {
  if (is_past(message)) return {};
  // Both ask: the other one has our question, too, or will.
  if (state_ == State::asking) return has_priority_ ? Outcome{} : answer(message, now_ns);
  // Our answer was lost.
  if (state_ == State::answering) return {.send = this->message(Kind::grant)};
  return {};
}

Handshake::Outcome Handshake::on_grant(const HandshakeMessage& message) {
  if (!is_about_us(message)) {
    // The peer has a connection that we know nothing of, any more.
    return {.send = {Kind::closed, true, message.attempt}};
  }
  if (state_ == State::asking) {
    rest(State::open);
    return {.change = Change::open, .connects = true, .send = this->message(Kind::confirm)};
  }
  return {.send = this->message(Kind::confirm)};
}

Handshake::Outcome Handshake::on_close(const HandshakeMessage& message, std::uint64_t now_ns) {
  const HandshakeMessage answer{Kind::closed, !message.is_senders_attempt, message.attempt};
  if (!is_about_us(message)) return {.send = answer};
  switch (state_) {
    case State::closing:
      // Both close. The peer sends no more, so what is left is what we still have to send or take.
      if (is_drained_) return end(answer);
      rest(State::leaving);
      return {};
    case State::open:
    case State::answering:
      enter(State::leaving, now_ns);
      deadline_ns_ = never_ns;
      return {.change = Change::drain, .send = {}};
    default:
      return {};
  }
}

Handshake::Outcome Handshake::on_closed(const HandshakeMessage& message) {
  if (!is_about_us(message) || state_ == State::asking) return {};
  return end({});
}

HandshakeMessage Handshake::message(Kind kind) const { return {kind, is_our_attempt_, attempt_}; }

/// What a state that waits for an answer says again.
HandshakeMessage::Kind Handshake::repeated() const {
  switch (state_) {
    case State::asking:
      return Kind::ask;
    case State::answering:
      return Kind::grant;
    case State::closing:
      return Kind::close;
    default:
      return Kind::none;
  }
}

void Handshake::enter(State state, std::uint64_t now_ns) {
  state_ = state;
  interval_ns_ = interval_ns_min;
  deadline_ns_ = now_ns + interval_ns_;
}

void Handshake::rest(State state) {
  state_ = state;
  deadline_ns_ = never_ns;
}

Handshake::Outcome Handshake::end(HandshakeMessage last) {
  rest(State::closed);
  return {.change = Change::end, .send = last};
}

}  // namespace hawser::transport::verbs
