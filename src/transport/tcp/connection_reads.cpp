// The part of Connection that reads the peer's memory, and lets it read ours.
#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "transport/tcp/connection.hpp"

namespace hawser::transport::tcp {

namespace {

constexpr std::array<std::byte, record_alignment> zeros{};

}  // namespace

bool Connection::start(const ReadRequest& what, const Read& read) {
  if (has_failed_ || reads_.size() >= reads_max) return false;
  reads_.push_back(read);
  queue_small(RecordType::read, std::as_bytes(std::span(&what, 1)));
  if (!is_blocked_) flush();
  return true;
}

void Connection::answer(std::span<const std::byte> request) {
  ReadRequest what;
  std::memcpy(&what, request.data(), sizeof(what));
  if (answers_.size() >= reads_max) return fail("it reads more at a time than it may");
  answers_.push_back(what);
  if (!is_blocked_) note_unsent();
}

/// The next chunks of what the peer reads. More wait until these have left, so that frames do not
/// wait for long.
void Connection::queue_answers() {
  while (!answers_.empty() && chunks_queued_ < chunks_max) {
    ReadRequest& what = answers_.front();
    if (owner_.exported().may_read(what.key, what.address, what.bytes)) {
      queue_chunk(what);
    } else {
      queue_small(RecordType::refused, {});
      what.bytes = 0;
    }
    if (what.bytes == 0) answers_.pop_front();
  }
}

void Connection::queue_chunk(ReadRequest& what) {
  const std::size_t bytes = std::min<std::uint64_t>(what.bytes, data_bytes_max);
  const RecordHeader header{static_cast<std::uint32_t>(bytes), RecordType::data, {}};
  Piece& front = queue_.emplace_back();
  std::memcpy(front.memory.data(), &header, sizeof(header));
  front.data = front.memory.data();
  front.bytes = sizeof(header);
  Piece& chunk = queue_.emplace_back();
  chunk.data = reinterpret_cast<const std::byte*>(what.address);
  chunk.bytes = bytes;
  chunk.key = what.key;
  ++chunks_queued_;
  if (const std::size_t zero_bytes = record_bytes(bytes, false) - sizeof(header) - bytes) {
    Piece& back = queue_.emplace_back();
    back.data = zeros.data();
    back.bytes = zero_bytes;
  }
  what.address += bytes;
  what.bytes -= bytes;
}

/// It was when it was queued; its holder may have let it go since.
bool Connection::is_readable(const Piece& piece) const {
  return owner_.exported().may_read(piece.key, reinterpret_cast<std::uint64_t>(piece.data),
                                    piece.bytes);
}

/// DATA, or the first part of it, belongs to the oldest read.
void Connection::take_data(const RecordReader::Record& data) {
  const std::size_t bytes = data.body.size() + data.rest_bytes;
  if (reads_.empty() || bytes > reads_.front().left_bytes) return fail_garbled();
  base::copy_bytes(reads_.front().to, data.body.data(), data.body.size());
  rest_bytes_ = bytes;
  note_data(data.body.size());
}

/// BYTES of the data that is coming in are where they belong.
void Connection::note_data(std::size_t bytes) {
  Read& read = reads_.front();
  read.to += bytes;
  read.left_bytes -= bytes;
  rest_bytes_ -= bytes;
  if (read.left_bytes > 0) return;
  const std::uint64_t token = read.token;
  reads_.pop_front();
  owner_.on_read_done(token, true);
}

void Connection::end_refused() {
  if (reads_.empty()) return fail_garbled();
  const std::uint64_t token = reads_.front().token;
  reads_.pop_front();
  owner_.on_read_done(token, false);
}

}  // namespace hawser::transport::tcp
