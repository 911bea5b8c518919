#include "transport/verbs/connector.hpp"

#include <algorithm>
#include <utility>

namespace hawser::transport::verbs {

using Change = Handshake::Outcome::Change;

bool Connector::make_connection() {
  ReliableQueues* const queues = services_.reliable_queues();
  if (queues == nullptr) return false;
  connection_ =
      Connection::make(*queues, services_.buffers, ++services_.connections_made, listener_);
  return connection_ != nullptr;
}

bool Connector::ask() {
  if (!make_connection()) return false;
  carry_out(handshake_.ask(services_.clock()), nullptr);
  return true;
}

void Connector::close() {
  if (handshake_.state() == Handshake::State::open)
    carry_out(handshake_.close(services_.clock()), nullptr);
}

void Connector::abandon() {
  if (handshake_.is_closed()) return;  // one that is ending needs the peer no more
  if (std::exchange(is_open_, false)) listener_.on_connection_closing();
  break_off();
  is_draining_ = false;
  was_broken_ = false;
  handshake_.abandon();
  listener_.on_connection_ended();
}

bool Connector::may_grant() {
  // A peer that has given up its last question asks anew; our grant still stands.
  const bool was_granted = connection_ != nullptr;
  if (!was_granted && (ending_ || !listener_.on_connection_asked())) return false;
  if (was_granted) discard();
  if (make_connection()) return true;
  listener_.on_connection_withdrawn();
  return false;
}

void Connector::on_message(const ConnectionMessage& message) {
  const HandshakeMessage said{
      .kind = static_cast<HandshakeMessage::Kind>(message.kind),
      .is_senders_attempt = (message.flags & ConnectionMessage::is_senders_attempt) != 0,
      .attempt = message.attempt};
  const Handshake::Outcome outcome =
      handshake_.on_message(said, services_.clock(), [this] { return may_grant(); });
  was_broken_ |=
      outcome.change == Change::drain && (message.flags & ConnectionMessage::is_broken) != 0;
  carry_out(outcome, &message);
}

void Connector::on_used(const Connection& connection) {
  if (&connection == connection_.get() && !is_open_) carry_out(handshake_.on_use(), nullptr);
}

void Connector::carry_out(const Handshake::Outcome& outcome, const ConnectionMessage* peer) {
  switch (outcome.change) {
    case Change::none:
      break;
    case Change::connect:
      connect(peer);
      break;
    case Change::open:
      if (outcome.connects) connect(peer);
      break;
    case Change::refused:
      connection_.reset();
      break;
    case Change::drain:
      begin_to_close();
      break;
    case Change::end:
      break;
  }
  if (outcome.send.kind != HandshakeMessage::Kind::none) send(outcome.send);
  // What the layer above does in answer comes after that.
  if (outcome.change == Change::open) enter_open();
  if (outcome.change == Change::refused) listener_.on_connection_refused();
  if (outcome.change == Change::end) end();
  note_timed();
}

/// A refusal of the adapter shows at the first use as a break.
void Connector::connect(const ConnectionMessage* peer) {
  if (!connection_->connect(*peer)) connection_->break_now();
}

void Connector::enter_open() {
  is_open_ = true;
  listener_.on_connection_open();
}

void Connector::begin_to_close() {
  is_open_ = false;
  is_draining_ = true;
  listener_.on_connection_closing();
  if (was_broken_) break_off();
}

void Connector::break_off() {
  if (!connection_) return;
  discard();
  listener_.on_connection_broken();
}

void Connector::discard() {
  connection_->break_now();
  // What was done before is not to be taken for undone, and what has come is not to be lost.
  services_.reliable->poll_all();
  connection_.reset();
}

void Connector::end() {
  if (std::exchange(is_open_, false)) {
    // The peer has no other end of it any more.
    listener_.on_connection_closing();
    break_off();
  }
  is_draining_ = false;
  was_broken_ = false;
  if (connection_) {
    ending_ = std::move(connection_);
    listener_.on_ending();
  } else {
    listener_.on_connection_ended();
  }
}

void Connector::finish_ending() {
  ending_.reset();
  listener_.on_connection_ended();
}

bool Connector::carries(std::uint32_t number) const {
  return (connection_ && connection_->number() == number) ||
         (ending_ && ending_->number() == number && !ending_->is_broken());
}

void Connector::break_connection() {
  if (connection_ && (is_open_ || is_draining_)) connection_->break_now();
}

void Connector::stop(std::uint32_t number) {
  for (const auto& each : {connection_.get(), ending_.get()})
    if (each != nullptr && each->number() == number) each->break_now();
}

std::uint64_t Connector::deadline_ns() const {
  if (is_draining_ || (connection_ && connection_->is_broken())) return 0;
  return handshake_.deadline_ns();
}

void Connector::serve(std::uint64_t now_ns) {
  if (connection_ && connection_->is_broken() && !is_draining_) {
    // Whoever uses it must have known that it is open.
    if (handshake_.state() == Handshake::State::answering) handshake_.on_use();
    was_broken_ = true;
    if (handshake_.state() == Handshake::State::open) carry_out(handshake_.close(now_ns), nullptr);
  }
  if (is_draining_ && connection_ && connection_->is_broken()) {
    was_broken_ = true;
    break_off();
  }
  if (is_draining_ && (!connection_ || connection_->drain())) {
    is_draining_ = false;
    carry_out(handshake_.drained(now_ns), nullptr);
  }
  carry_out(handshake_.on_time(now_ns), nullptr);
}

void Connector::send(const HandshakeMessage& message) {
  ConnectionMessage said;
  if (connection_) connection_->describe(said);
  said.kind = static_cast<std::uint8_t>(message.kind);
  said.attempt = message.attempt;
  if (message.is_senders_attempt) said.flags |= ConnectionMessage::is_senders_attempt;
  if (was_broken_) said.flags |= ConnectionMessage::is_broken;
  listener_.send_message(said);
}

void Connector::note_timed() {
  if (deadline_ns() != never_ns) listener_.on_timed();
}

}  // namespace hawser::transport::verbs
