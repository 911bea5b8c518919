#include "transport/tcp/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hawser::transport::tcp {

namespace {

constexpr const char* taken_back = "memory that it was sending is not to be read any more";

std::optional<SealKey> key_from_peer(const std::optional<Connection::Keys>& keys) {
  if (!keys) return std::nullopt;
  return keys->from_peer;
}

}  // namespace

Connection::Connection(LinkServices& services, Owner& owner, platform::TcpSocket socket,
                       const std::optional<Keys>& keys)
    : services_(services),
      owner_(owner),
      socket_(std::move(socket)),
      path_{socket_.local_address().value_or(IpAddress{}),
            socket_.remote_address().value_or(IpAddress{})},
      interface_(interface_between(services.interfaces, path_.local, path_.remote)),
      number_(++services.connections_made),
      token_(services.watch(socket_, *this, false)),
      reader_(key_from_peer(keys)) {
  if (keys) seal_.emplace(keys->to_peer);
  services_.ledger.charge(memory::Account::endpoints, sizeof(Connection));
}

Connection::~Connection() {
  services_.ledger.refund(memory::Account::endpoints, sizeof(Connection));
  services_.forget(socket_, token_);
  lose_queue();
  if (staging_ != nullptr) services_.staging.give_back(staging_);
  if (is_unsent_) std::erase(services_.unsent, this);
  std::erase(services_.unread, this);
  if (services_.recent == this) services_.recent = nullptr;
}

void Connection::send(std::byte* frame, std::size_t bytes, std::byte* sealed) {
  SendBuffers::note_of(frame).connection = number_;
  if (has_failed_) {
    if (sealed != nullptr) SendBuffers::release(sealed);
    return;
  }
  RecordHeader& header = SendBuffers::note_of(frame).header;
  header = {static_cast<std::uint32_t>(bytes), RecordType::frame, {}};
  std::byte* from = frame;
  if (seal_) {
    SendBuffers::note_of(sealed).header = header;
    seal_->apply(header, {frame, bytes}, sealed);
    from = sealed;
  }
  const std::size_t content_bytes = bytes + (seal_ ? seal_bytes : 0);
  const std::size_t whole_bytes = record_bytes(bytes, seal_.has_value());
  std::memset(from + content_bytes, 0, whole_bytes - sizeof(header) - content_bytes);
  std::byte* const record = from - sizeof(header);
  // Most have the socket for themselves, and need no place in the queue.
  const bool is_alone = is_flushed() && !is_blocked_;
  const std::size_t sent = is_alone ? give(std::array{iovec{record, whole_bytes}}) : 0;
  if (sent < whole_bytes && !has_failed_) [[unlikely]] {
    SendBuffers::note_given(from);
    Piece& piece = queue_.emplace_back();
    piece.data = record + sent;
    piece.bytes = whole_bytes - sent;
    piece.frame = from;
    if (is_alone) {
      set_blocked(true);
    } else if (!is_blocked_) {
      flush();
    }
  }
  if (sealed != nullptr) SendBuffers::release(sealed);
}

bool Connection::send_once(std::span<const std::byte> frame) {
  if (has_failed_ || once_queued_ >= once_max || frame.size() > once_bytes_max) return false;
  ++once_queued_;
  queue_small(RecordType::frame, frame).is_once = true;
  note_unsent();
  return true;
}

void Connection::send_control(RecordType type) {
  if (has_failed_) return;
  queue_small(type, {});
  if (!is_blocked_) flush();
}

Connection::Piece& Connection::queue_small(RecordType type, std::span<const std::byte> body) {
  const RecordHeader header{static_cast<std::uint32_t>(body.size()), type, {}};
  Piece& piece = queue_.emplace_back();
  std::memcpy(piece.memory.data(), &header, sizeof(header));
  std::byte* const to = piece.memory.data() + sizeof(header);
  if (seal_) {
    seal_->apply(header, body, to);
  } else {
    std::ranges::copy(body, to);
  }
  piece.data = piece.memory.data();
  piece.bytes = record_bytes(body.size(), seal_.has_value());
  return piece;
}

void Connection::note_unsent() {
  if (!std::exchange(is_unsent_, true)) services_.unsent.push_back(this);
}

void Connection::flush() {
  for (std::size_t left = flush_bytes_max; !has_failed_;) {
    queue_answers();
    if (queue_.empty()) break;
    if (left == 0) return note_unsent();
    std::array<iovec, pieces_per_call> pieces;  // NOLINT(*-member-init): filled as far as used
    const std::size_t count_max = std::min(queue_.size(), pieces.size());
    std::size_t count = 0;
    std::size_t offered = 0;
    for (; count < count_max && offered < bytes_per_call; ++count) {
      const Piece& piece = queue_[count];
      if (piece.key != 0 && !is_readable(piece)) return fail(taken_back);
      pieces[count] = {const_cast<std::byte*>(piece.data), piece.bytes};
      offered += piece.bytes;
    }
    const std::size_t sent = give(std::span(pieces).first(count));
    if (has_failed_) return;
    note_sent(sent);
    if (sent < offered) return set_blocked(true);
    left -= std::min(left, sent);
  }
  set_blocked(false);
}

/// How many bytes of PIECES the socket has taken.
std::size_t Connection::give(std::span<const iovec> pieces) {
  const platform::TcpSocket::Moved moved = socket_.send(pieces);
  if (moved.outcome == platform::TcpSocket::Outcome::failed)
    fail(platform::error_text(moved.error));
  services_.bytes_sent[interface_.value_or(services_.interfaces.size())] += moved.bytes;
  return moved.bytes;
}

void Connection::note_sent(std::size_t bytes) {
  while (bytes > 0) {
    Piece& piece = queue_.front();
    const std::size_t sent = std::min(bytes, piece.bytes);
    piece.data += sent;
    piece.bytes -= sent;
    bytes -= sent;
    if (piece.bytes > 0) return;
    if (piece.frame != nullptr) SendBuffers::note_left(piece.frame);
    if (piece.is_once) --once_queued_;
    if (piece.key != 0) --chunks_queued_;
    queue_.pop_front();
  }
}

void Connection::set_blocked(bool is_blocked) {
  if (std::exchange(is_blocked_, is_blocked) == is_blocked || has_failed_) return;
  if (is_watched_) {
    services_.poll.change(socket_.fd(), token_, is_blocked);
  } else {
    watch();
  }
}

void Connection::watch() {
  if (services_.recent == this) services_.recent_receipts = 0;
  if (has_failed_ || std::exchange(is_watched_, true)) return;
  give_memory_back();
  if (!services_.poll.add(socket_.fd(), token_, is_blocked_))
    fail(fmt::format("it cannot be waited for: {}", std::strerror(errno)));
}

void Connection::note_received() {
  if (services_.recent != this) {
    if (services_.recent != nullptr) services_.recent->watch();
    services_.recent = this;
    services_.recent_receipts = 0;
  }
  if (++services_.recent_receipts == receipts_until_alone && is_watched_ && !is_blocked_) {
    services_.poll.remove(socket_.fd());
    is_watched_ = false;
  }
}

void Connection::lose_queue() {
  for (const Piece& piece : queue_)
    if (piece.frame != nullptr) SendBuffers::note_left(piece.frame);
  queue_.clear();
  answers_.clear();
  once_queued_ = 0;
  chunks_queued_ = 0;
}

void Connection::fail(std::string why) {
  if (std::exchange(has_failed_, true)) return;
  failure_ = std::move(why);
  services_.forget(socket_, token_);
  lose_queue();
  owner_.on_failed(*this);
}

bool Connection::fail_if_silent(std::uint32_t timeout_s) {
  if (!is_silent(timeout_s)) return false;
  fail(std::string(LinkServices::host_is_silent));
  return true;
}

void Connection::fail_garbled() {
  is_garbled_ = true;
  fail("what came makes no sense, or was changed on its way");
}

void Connection::on_ready(bool is_readable, bool is_writable) {
  if (is_writable && !has_failed_) flush();
  if (is_readable && !has_failed_) receive();
}

bool Connection::receive() {
  if (has_failed_) return false;
  if (!is_unread_ && !read()) return false;
  note_received();
  return tell();
}

void Connection::receive_rest() {
  constexpr int receives_max = 64;
  for (int i = 0; i < receives_max && !is_garbled_ && read(); ++i)
    while (tell() && is_unread_) {
    }
}

/// True if there are bytes that were not there before.
bool Connection::read() {
  if (staging_ == nullptr) {
    const auto buffer = services_.staging.take();
    if (!buffer) return false;
    staging_ = *buffer;
    reader_.use(staging_->data());
  }
  return take_read(read_more());
}

/// Data goes where it belongs; before its header is there, little is read that might be data.
platform::TcpSocket::Moved Connection::read_more() {
  std::span<std::byte> room = reader_.room();
  if (!reads_.empty())
    room = room.first(std::min(room.size(), reader_.missing_bytes() + read_beside_bytes));
  if (rest_bytes_ == 0) return socket_.receive(room);
  const std::array<iovec, 2> places = {
      {{reads_.front().to, rest_bytes_}, {room.data(), room.size()}}};
  return socket_.receive(places);
}

bool Connection::take_read(const platform::TcpSocket::Moved& moved) {
  using Outcome = platform::TcpSocket::Outcome;
  const std::size_t data_bytes = std::min(moved.bytes, rest_bytes_);
  reader_.note_read(moved.bytes - data_bytes);
  if (data_bytes > 0) note_data(data_bytes);
  if (moved.outcome == Outcome::some) return true;
  give_memory_back();
  if (moved.outcome == Outcome::closed) fail("it has closed the connection");
  if (moved.outcome == Outcome::failed) fail(platform::error_text(moved.error));
  return false;
}

/// Tells the owner of records that have come; true if it was one at least.
bool Connection::tell() {
  using State = RecordReader::Record::State;
  is_unread_ = false;
  for (int i = 0; i < records_per_round_max; ++i) {
    const RecordReader::Record record = reader_.next();
    if (record.state == State::bad) fail_garbled();
    if (is_garbled_) return true;
    if (record.state == State::none) {
      give_memory_back();
      return i > 0;
    }
    if (record.type == RecordType::data) {
      take_data(record);
    } else if (record.type == RecordType::refused) {
      end_refused();
    } else {
      is_telling_ = true;
      owner_.on_record(*this, record.type, record.body);
      is_telling_ = false;
    }
  }
  is_unread_ = true;
  services_.unread.push_back(this);
  return true;
}

/// Unless more is likely to come at once, or the last record is still being read.
void Connection::give_memory_back() {
  if (staging_ == nullptr || !reader_.is_empty() || !is_watched_ || is_telling_) return;
  reader_.forget_memory();
  services_.staging.give_back(std::exchange(staging_, nullptr));
}

}  // namespace hawser::transport::tcp
