#include "sim/sim_connection.hpp"

#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "sim/sim_transport.hpp"

namespace hawser::sim {

using transport::ChannelSet;
using transport::verbs::HandshakeMessage;
using Change = transport::verbs::Handshake::Outcome::Change;
using HandshakeState = transport::verbs::Handshake::State;

namespace {

constexpr ChannelSet connected_channels{ChannelKind::rc_send, ChannelKind::rc_fast_path,
                                        ChannelKind::rc_rdma};

/// A message with what its sender adds: its queue pair.
struct Letter {
  HandshakeMessage message;
  Connections::PairNumber pair = Connections::none;
};

}  // namespace

bool SimConnection::is_open() const { return link_.channels().has(ChannelKind::rc_send); }

void SimConnection::ask() {
  make_pair();
  carry_out(handshake_.ask(now_ns()));
}

void SimConnection::give_back() {
  ++network_.probes().connections_given_back;
  carry_out(handshake_.close(now_ns()));
}

void SimConnection::on_letter(std::span<const std::byte> letter) {
  Letter received;
  HAWSER_ASSERT(letter.size() == sizeof(received));
  std::memcpy(&received, letter.data(), sizeof(received));
  if (received.message.kind == HandshakeMessage::Kind::ask &&
      handshake_.state() == HandshakeState::asking)
    ++network_.probes().crossed_questions;
  const bool was_open = is_open();
  // A peer that asks anew before it has our answer has a place with us already.
  const auto may_grant = [&] {
    return pair_ != Connections::none || sink_.on_channel_asked(link_, ChannelKind::rc_send);
  };
  carry_out(handshake_.on_message(received.message, now_ns(), may_grant), received.pair);
  if (was_open && !is_open()) sink_.on_channels_changed(link_);
}

bool SimConnection::takes(const Arrival& arrival) {
  if (arrival.pair != pair_) return false;
  carry_out(handshake_.on_use());
  return true;
}

void SimConnection::on_broken(PairNumber pair) {
  if (pair != pair_) return;
  is_broken_ = true;
  report(network_.connections().end_operations(pair));
  sink_.on_undelivered(link_, connected_channels);
  if (handshake_.state() != HandshakeState::open) return;
  carry_out(handshake_.close(now_ns()));
  sink_.on_channels_changed(link_);
}

bool SimConnection::start(const transport::Operation& operation) {
  if (network_.random().one_in(network_.settings().no_room_one_in)) return false;
  network_.connections().start(pair_, operation);
  return true;
}

void SimConnection::report(const std::vector<Connections::EndedOperation>& ended) {
  if (is_closing_) return;
  for (const auto& [token, was_done] : ended) link_.on_operation_ended(token, was_done);
}

bool SimConnection::serve() {
  if (deadline_ns() > now_ns()) return false;
  if (has_drained()) {
    is_draining_ = false;
    carry_out(handshake_.drained(now_ns()));
  }
  carry_out(handshake_.on_time(now_ns()));
  return true;
}

std::uint64_t SimConnection::deadline_ns() const {
  return has_drained() ? 0 : handshake_.deadline_ns();
}

void SimConnection::carry_out(const Handshake::Outcome& outcome, PairNumber peers) {
  switch (outcome.change) {
    case Change::none:
    case Change::drain:
      break;
    case Change::connect:
      connect(peers);
      break;
    case Change::open:
      if (outcome.connects) connect(peers);
      open();
      break;
    case Change::refused:
      ++network_.probes().connections_refused;
      drop_pair();
      sink_.on_channel_refused(link_, ChannelKind::rc_send);
      break;
    case Change::end:
      end();
      break;
  }
  if (outcome.change == Change::drain) {
    is_draining_ = true;
    close_channels();
  }
  if (outcome.send.kind != HandshakeMessage::Kind::none) {
    const Letter letter{outcome.send, pair_};
    network_.scheduler().note("{} sends message {} about attempt {} to {}", self_,
                              static_cast<unsigned>(outcome.send.kind), outcome.send.attempt,
                              peer_);
    network_.send_datagram(self_, peer_, Parcel::handshake, std::as_bytes(std::span(&letter, 1)));
  }
  note_rest();
}

void SimConnection::note_rest() {
  const HandshakeState state = handshake_.state();
  const bool is_restless = state != HandshakeState::closed && state != HandshakeState::open;
  if (std::exchange(is_restless_, is_restless) == is_restless) return;
  is_restless ? ++holdings_.restless : --holdings_.restless;
  network_.count_restless_handshakes(is_restless ? 1 : -1);
}

void SimConnection::make_pair() {
  HAWSER_ASSERT(pair_ == Connections::none);
  holdings_.take(holdings_.connections);
  pair_ = network_.connections().make(self_, peer_);
}

void SimConnection::drop_pair() {
  if (pair_ == Connections::none) return;
  network_.connections().destroy(std::exchange(pair_, Connections::none));
  Holdings::drop(holdings_.connections);
  is_connected_ = false;
  is_broken_ = false;
}

void SimConnection::connect(PairNumber peers) {
  // A queue pair that was connected serves no other connection.
  if (is_connected_) drop_pair();
  if (pair_ == Connections::none) make_pair();
  network_.connections().connect(pair_, peers);
  is_connected_ = true;
}

void SimConnection::open() {
  ++network_.probes().connections_made;
  network_.connections().open(pair_);
  link_.add(ChannelKind::rc_send);
  link_.add(ChannelKind::rc_rdma);
  link_.set_earnable(ChannelKind::rc_fast_path, true);
  sink_.on_channels_changed(link_);
}

void SimConnection::close_channels() {
  link_.remove(ChannelKind::rc_send);
  link_.remove(ChannelKind::rc_rdma);
  link_.set_earnable(ChannelKind::rc_fast_path, false);
  close_fast_path();
}

void SimConnection::close_fast_path() {
  if (!link_.channels().has(ChannelKind::rc_fast_path)) return;
  link_.remove(ChannelKind::rc_fast_path);
  Holdings::drop(holdings_.fast_paths);
}

void SimConnection::end() {
  report(network_.connections().end_operations(pair_));
  // The peer knows nothing of it, any more.
  if (is_open() || is_draining_) sink_.on_undelivered(link_, connected_channels);
  is_draining_ = false;
  close_channels();
  on_fast_path_given_back();
  if (fast_path_is_asked_) on_fast_path_refused();
  drop_pair();
  sink_.on_channel_given_back(link_, ChannelKind::rc_send);
}

void SimConnection::forget() {
  report(network_.connections().end_operations(pair_));
  end_all();
}

void SimConnection::abandon() {
  unreported_ = network_.connections().end_operations(pair_);
  if (!unreported_.empty()) holdings_.abandoned.push_back(&link_);
  end_all();
}

void SimConnection::end_all() {
  close_channels();
  if (link_.incoming().has(ChannelKind::rc_fast_path)) Holdings::drop(holdings_.granted_fast_paths);
  link_.set_incoming(ChannelKind::rc_fast_path, false);
  drop_pair();
  if (!std::exchange(is_restless_, false)) return;
  --holdings_.restless;
  network_.count_restless_handshakes(-1);
}

void SimConnection::tell(Parcel parcel) {
  if (!is_open()) return;  // the peer will hear that all of it has ended
  network_.connections().send(pair_, {self_, parcel, ChannelKind::rc_fast_path, nullptr, 0});
}

void SimConnection::ask_for_fast_path() {
  fast_path_is_asked_ = true;
  tell(Parcel::ask);
}

void SimConnection::give_back_fast_path() {
  close_fast_path();
  tell(Parcel::give_back);
}

void SimConnection::on_notice(Parcel parcel) {
  switch (parcel) {
    case Parcel::ask:
      on_fast_path_asked();
      return;
    case Parcel::grant:
      on_fast_path_granted();
      return;
    case Parcel::refuse:
      on_fast_path_refused();
      return;
    case Parcel::give_back:
      on_fast_path_given_back();
      return;
    case Parcel::recall:
      ++network_.probes().fast_paths_recalled;
      sink_.on_channel_recalled(link_, ChannelKind::rc_fast_path);
      return;
    default:
      return;
  }
}

void SimConnection::on_fast_path_asked() {
  if (!is_open()) return;
  if (!sink_.on_channel_asked(link_, ChannelKind::rc_fast_path)) {
    tell(Parcel::refuse);
    return;
  }
  holdings_.take(holdings_.granted_fast_paths);
  link_.set_incoming(ChannelKind::rc_fast_path, true);
  tell(Parcel::grant);
}

void SimConnection::on_fast_path_granted() {
  if (!is_open()) {
    on_fast_path_refused();
    return;
  }
  fast_path_is_asked_ = false;
  ++network_.probes().fast_paths_granted;
  holdings_.take(holdings_.fast_paths);
  link_.add(ChannelKind::rc_fast_path);
  sink_.on_channels_changed(link_);
}

void SimConnection::on_fast_path_refused() {
  fast_path_is_asked_ = false;
  ++network_.probes().fast_paths_refused;
  sink_.on_channel_refused(link_, ChannelKind::rc_fast_path);
}

void SimConnection::on_fast_path_given_back() {
  if (!link_.incoming().has(ChannelKind::rc_fast_path)) return;
  ++network_.probes().fast_paths_given_back;
  link_.set_incoming(ChannelKind::rc_fast_path, false);
  Holdings::drop(holdings_.granted_fast_paths);
  sink_.on_channel_given_back(link_, ChannelKind::rc_fast_path);
}

}  // namespace hawser::sim
