#include "transport/tcp/tcp_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hawser::transport::tcp {

namespace {

/// By REQUEST, the body of a read.
std::uint64_t bytes_wanted(std::span<const std::byte> request) {
  ReadRequest wanted;
  if (request.size() != sizeof(wanted)) return 0;
  std::memcpy(&wanted, request.data(), sizeof(wanted));
  return wanted.bytes;
}

}  // namespace

// Frames.

std::byte* TcpLink::reserve(ChannelKind kind, std::size_t bytes) {
  if (rest_.is_resting()) [[unlikely]]
    wake();
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
  note_use();
  send(std::exchange(reserved_, nullptr), reserved_bytes_, std::exchange(sealed_, nullptr));
}

void TcpLink::send(std::byte* frame, std::size_t bytes, std::byte* sealed) {
  Connection* by = connection_.get();
  if (bytes > SendBuffers::short_frame_bytes) {
    note_long(bytes);
    if (!further_.is_empty()) by = &further_.least_loaded(*connection_, bytes);
  }
  by->send(frame, bytes, sealed);
  by->note_kept(bytes);
}

Connection* TcpLink::connection_of(std::byte* frame) const {
  const std::uint32_t number = SendBuffers::note_of(frame).connection;
  return connection_ && connection_->number() == number ? connection_.get() : further_.find(number);
}

void TcpLink::release(ChannelKind, std::byte* frame) {
  if (Connection* const by = connection_of(frame))
    by->note_released(SendBuffers::note_of(frame).header.body_bytes);
  SendBuffers::release(frame);
}

bool TcpLink::send_once(ChannelKind, std::span<const std::byte> frame) {
  if (rest_.is_resting()) [[unlikely]]
    wake();
  return connection_ && connection_->send_once(frame);
}

bool TcpLink::is_under_way(std::byte* frame) const { return connection_of(frame) != nullptr; }

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
  if (Connection* const before = connection_of(frame)) before->note_released(bytes);
  send(frame, bytes, sealed);
  return Resent::sent;
}

void TcpLink::break_connection() {
  if (connection_) connection_->fail("its rail has failed");
}

std::int64_t TcpLink::get(std::span<const MemoryPiece>, std::span<const MemoryPiece>) {
  return -EOPNOTSUPP;
}

// Operations on memory.

Result<std::unique_ptr<HeldMemory>> TcpLink::hold(std::uint64_t address, std::size_t bytes) {
  if (services_.side.encrypts)
    return Error(ErrorClass::unsupported_operation, "what is encrypted goes by frames alone");
  return exported_.hold(address, bytes);
}

bool TcpLink::start(const Operation& operation) {
  if (!connection_ || operation.kind != Operation::Kind::get || services_.side.encrypts ||
      operation.bytes == 0)
    return false;
  note_use();
  note_long(operation.bytes);
  return connection_->start(
      {operation.remote_address, operation.bytes, operation.remote_key, 0},
      {reinterpret_cast<std::byte*>(operation.local_address), operation.bytes, operation.token});
}

void TcpLink::on_read_done(std::uint64_t token, bool was_done) {
  note_use();
  services_.sink.on_operation_done(*this, token, was_done);
}

void TcpLink::say(RecordType type) {
  if (connection_) connection_->send_control(type);
}

void TcpLink::on_record(Connection& by, RecordType type, std::span<const std::byte> body) {
  if (is_abandoned_) return;
  if (!is_in_use(by)) {
    on_record_of_attempt(by, type);
    return;
  }
  switch (type) {
    case RecordType::frame:
      note_use();
      if (body.size() > SendBuffers::short_frame_bytes) note_long(body.size());
      services_.sink.on_frame(*this, ChannelKind::tcp, body);
      return;
    case RecordType::leave:
      is_away_ = true;
      return;
    case RecordType::come_back:
      is_away_ = false;
      return;
    case RecordType::rest:
      if (rest_.on_asked(is_idle() && !is_awaited()) && knows_address()) say(RecordType::rested);
      return;
    case RecordType::rested:
      if (rest_.on_agreed()) note_changed();
      return;
    case RecordType::read:
      note_use();
      note_long(bytes_wanted(body));
      by.answer(body);
      return;
    case RecordType::data:
    case RecordType::refused:
      return;  // the connection's own affair
    case RecordType::accepted:
      by.fail("it confirmed its connection twice");
  }
}

/// One that is not in use yet: the peer may confirm one of ours, and nothing else.
void TcpLink::on_record_of_attempt(Connection& by, RecordType type) {
  if (type == RecordType::accepted && further_.confirm(by)) {
    note_changed();
    return;
  }
  std::unique_ptr<Connection> confirmed =
      type == RecordType::accepted && attempts_ ? attempts_->take(by) : nullptr;
  if (!confirmed) {
    by.fail("it sent something out of its turn");
    return;
  }
  // At once: frames may follow in what was read together with this.
  adopt(std::move(confirmed), true);
}

void TcpLink::on_failed(Connection&) { note_changed(); }

void TcpLink::note_changed() {
  if (!std::exchange(is_changed, true)) services_.changed.push_back(this);
}

void TcpLink::note_timed() {
  if (deadline_ns() != never_ns && !std::exchange(is_timed, true)) services_.timed.push_back(this);
}

void TcpLink::check_peer(std::uint64_t now_ns) {
  if (attempts_) attempts_->fail_silent(services_.timeout_s());
  if (!connection_) return;
  if (services_.has_rails()) check_rails();
  if (connection_->fail_if_silent(services_.timeout_s())) return;
  if (std::exchange(seen_use_, last_use_) != last_use_) {
    idle_since_ns_ = now_ns;
  } else if (services_.idle_ns() > 0 && now_ns >= idle_since_ns_ + services_.idle_ns() &&
             !is_awaited()) {
    ask_to_rest();
  }
}

/// The others take over from one that is silent. Where there is no other, it is kept, since the
/// whole network may be away for a while, and others are tried.
void TcpLink::check_rails() {
  is_first_silent_ = connection_->is_silent(LinkServices::rail_timeout_s);
  further_.check();
  if (is_first_silent_ && further_.is_any_alive()) connection_->fail("its rail carries nothing");
  const bool is_used = seen_use_ != last_use_;
  if ((is_used && has_earned_rails()) || is_first_silent_) note_changed();
}

// Connections.

void TcpLink::dial(const Address& address, std::uint64_t now_ns) {
  if (!attempts_) prepare_to_dial(address);
  if (connection_ || is_dialing() || is_abandoned_ || rest_.is_resting()) return;
  passive_until_ns_ = never_ns;
  attempts_->begin(purpose(), now_ns);
  note_timed();
}

bool TcpLink::knows_address() {
  if (attempts_) return true;
  const auto published = services_.sink.address_of(peer_, network_name);
  const std::optional<Address> address = parse_address(published);
  if (address) prepare_to_dial(*address);
  return address.has_value();
}

void TcpLink::prepare_to_dial(const Address& address) {
  address_ = address;
  const auto candidates = order_candidates(address, services_.own_addresses, services_.host_mark);
  attempts_ = std::make_unique<Attempts>(services_, *this, peer_,
                                         Dialer(candidates, address.port, services_.timeout_ns()),
                                         [this] { note_changed(); });
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

void TcpLink::on_further_visit(std::unique_ptr<Connection> connection, std::uint64_t now_ns) {
  if (is_abandoned_) return;
  const bool has_first = connection_ && !connection_->has_failed();
  // The peer has one, whatever has become of it here.
  const bool replaces_first = has_first && connection_->path() == connection->path();
  if (!has_first && further_.is_empty()) {
    on_visit(std::move(connection), now_ns);
    return;
  }
  if (replaces_first) connection_->fail("the peer has made it anew");
  Connection& added = *connection;
  if (!further_.add(std::move(connection))) return;
  added.send_control(RecordType::accepted);
  note_changed();
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
  further_.close();  // who has begun this one had none
  end_connection();
  connection_ = std::move(connection);
  services_.connections.note_opened();
  services_.lacks_room |= services_.has_too_many();
  note_use();
  rest_by_ns_ = never_ns;
  is_first_silent_ = false;
  is_ours_ = is_ours;
  has_met_ = true;
  is_away_ = false;
  passive_until_ns_ = never_ns;
  if (replaces) services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  channels_ = possible_channels();
  if (!std::exchange(is_announced, true)) services_.sink.on_link(*this, peer_);
  services_.sink.on_channels_changed(*this);
  if (connection_->has_failed()) note_changed();
}

void TcpLink::stop_dialing() {
  if (attempts_) attempts_->stop();
  held_.reset();
  held_until_ns_ = never_ns;
}

void TcpLink::serve(std::uint64_t now_ns) {
  if (is_abandoned_) {
    end_connection();
    close();
    return;
  }
  serve_further(now_ns);
  if (connection_ && connection_->has_failed()) end_broken(now_ns);
  serve_rest(now_ns);
  if (is_dialing() && !attempts_->serve(now_ns)) lose(attempts_->report());
  serve_held(now_ns);
  if (now_ns >= passive_until_ns_) lose("its connection broke, and it has not connected again");
  settle_channels();
  note_timed();
}

void TcpLink::end_broken(std::uint64_t now_ns) {
  connection_->receive_rest();
  if (rest_.is_welcome() && is_idle()) {
    go_to_rest();
    return;
  }
  if (further_.is_any_alive()) {
    replace_first();
    return;
  }
  further_.close();
  channels_ = {};
  end_connection();
  services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  services_.sink.on_channels_changed(*this);
  if (!is_away()) look_for_peer(now_ns);
}

/// Nothing is written to memory of its reads afterwards: so they end as well.
void TcpLink::end_connection() {
  if (!connection_) return;
  services_.connections.note_ended();
  const std::deque<Connection::Read> reads = connection_->take_reads();
  connection_.reset();
  fail_reads(reads);
}

void TcpLink::fail_reads(const std::deque<Connection::Read>& reads) {
  for (const Connection::Read& read : reads) on_read_done(read.token, false);
}

void TcpLink::replace_first() {
  const std::deque<Connection::Read> reads = connection_->take_reads();
  connection_ = further_.take_one();
  is_first_silent_ = false;
  services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  fail_reads(reads);
}

/// Where there are several connections, frames use all of them, and a read but one.
void TcpLink::settle_channels() {
  if (channels_.empty()) return;
  transport::ChannelSet channels = possible_channels();
  if (further_.is_any_alive()) channels.remove(ChannelKind::tcp_zero_copy);
  if (channels == channels_) return;
  channels_ = channels;
  services_.sink.on_channels_changed(*this);
}

/// What has failed, and what is still to be opened.
void TcpLink::serve_further(std::uint64_t now_ns) {
  const bool has_failed = !further_.take_failed().empty();
  if (has_failed && rest_.is_welcome() && is_idle()) {
    go_to_rest();
  } else if (has_failed) {
    services_.sink.on_undelivered(*this, {ChannelKind::tcp});
  }
  if (!connection_ || !services_.has_rails()) return;
  further_.serve(now_ns);
  if ((has_earned_rails() || is_first_silent_) && knows_address())
    further_.open(*address_, *connection_, now_ns);
}

void TcpLink::look_for_peer(std::uint64_t now_ns) {
  if (attempts_) {
    attempts_->begin(purpose(), now_ns);
  } else {
    passive_until_ns_ = now_ns + timeouts_passive * services_.timeout_ns();
  }
}

void TcpLink::come_back(std::uint64_t now_ns) {
  if (connection_) {
    say(RecordType::come_back);
  } else if (attempts_ && !is_dialing() && !is_away() && !rest_.is_resting()) {
    attempts_->begin(purpose(), now_ns);
    note_timed();
  }
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
  return std::min({attempts_ ? attempts_->deadline_ns() : never_ns, further_.deadline_ns(),
                   held_until_ns_, passive_until_ns_, rest_by_ns_});
}

void TcpLink::abandon() {
  if (std::exchange(is_abandoned_, true)) return;
  channels_ = {};
  passive_until_ns_ = never_ns;
  rest_by_ns_ = never_ns;
  if (attempts_) attempts_->forgo();
  if (connection_) connection_->fail("the peer is gone");
  note_changed();  // attempts end there: this may be called from inside one of them
}

void TcpLink::close() {
  stop_dialing();
  further_.close();
  end_connection();
}

// Doing without a connection.

bool TcpLink::is_idle() const {
  return share_.is_empty() && connection_ && !connection_->is_reading() && is_flushed();
}

bool TcpLink::can_rest() {
  return connection_ && !connection_->has_failed() && rest_by_ns_ == never_ns && is_idle() &&
         knows_address();
}

void TcpLink::ask_to_rest() {
  if (can_rest() && rest_.ask()) say(RecordType::rest);
}

void TcpLink::keep_in_touch(std::uint64_t until_ns) {
  awaited_until_ns_ = until_ns;
  if (rest_.is_resting()) wake();
}

void TcpLink::rest_soon(std::uint64_t now_ns) {
  ask_to_rest();
  rest_by_ns_ = now_ns + rest_patience_ns;
  note_timed();
}

void TcpLink::serve_rest(std::uint64_t now_ns) {
  if (std::exchange(is_wanted_, false) && rest_.is_resting()) {
    rest_.on_use();
    channels_ = {};
    services_.sink.on_channels_changed(*this);
    look_for_peer(now_ns);
  }
  const bool is_due = now_ns >= rest_by_ns_;
  if (is_due) rest_by_ns_ = never_ns;
  if ((rest_.is_ending() || (is_due && rest_.is_welcome())) && is_idle()) go_to_rest();
}

void TcpLink::go_to_rest() {
  further_.close();
  end_connection();
  long_bytes_ = 0;
  rest_.begin();
  rest_by_ns_ = never_ns;
  ++services_.connections.rested;
}

void TcpLink::wake() {
  is_wanted_ = true;
  note_changed();
}

}  // namespace hawser::transport::tcp
