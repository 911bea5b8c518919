#include "transport/tcp/record_reader.hpp"

#include <algorithm>
#include <cstring>

namespace hawser::transport::tcp {

std::span<std::byte> RecordReader::room() {
  constexpr std::size_t worth_reading_to = memory_bytes / 4;
  const bool is_tight =
      memory_bytes - begin_ < record_bytes_max || memory_bytes - end_ < worth_reading_to;
  const std::size_t front = begin_ % record_alignment;
  if (is_empty()) {
    begin_ = end_ = front;
  } else if (is_tight && begin_ > front) {
    std::memmove(memory_ + front, memory_ + begin_, end_ - begin_);
    end_ -= begin_ - front;
    begin_ = front;
  }
  return {memory_ + end_, memory_bytes - end_};
}

std::size_t RecordReader::missing_bytes() const {
  const std::size_t at = begin_ + zeros();
  if (at >= end_) return 0;
  const std::optional<RecordHeader> header = parse_record_header({memory_ + at, end_ - at});
  if (!header || header->type == RecordType::data) return 0;
  const std::size_t whole_bytes = record_bytes(header->body_bytes, unseal_.has_value());
  return whole_bytes - std::min(whole_bytes, end_ - at);
}

RecordReader::Record RecordReader::next() {
  const std::size_t at = begin_ + zeros();
  if (at >= end_) return {};
  const std::span<std::byte> here(memory_ + at, end_ - at);
  if (here.size() < sizeof(RecordHeader)) return {};
  const std::optional<RecordHeader> header = parse_record_header(here);
  if (!header) return {.state = Record::State::bad};
  begin_ = at;
  if (header->type == RecordType::data) return take_data(*header, here);
  const std::size_t whole_bytes = record_bytes(header->body_bytes, unseal_.has_value());
  if (here.size() < whole_bytes) return {};
  const std::span<std::byte> body = here.subspan(sizeof(RecordHeader), header->body_bytes);
  if (unseal_ && !unseal_->apply(*header, body)) return {.state = Record::State::bad};
  begin_ += whole_bytes;
  return {.state = Record::State::whole, .type = header->type, .body = body};
}

/// The data that is HERE, behind its HEADER.
RecordReader::Record RecordReader::take_data(const RecordHeader& header,
                                             std::span<const std::byte> here) {
  if (unseal_) return {.state = Record::State::bad};
  const std::size_t there = std::min<std::size_t>(here.size() - sizeof(header), header.body_bytes);
  const std::size_t rest = header.body_bytes - there;
  begin_ += sizeof(header) + there;
  // The rest passes this memory by, but not the stream.
  if (rest > 0) begin_ = end_ = (begin_ + rest) % record_alignment;
  return {.state = Record::State::whole,
          .type = RecordType::data,
          .body = here.subspan(sizeof(header), there),
          .rest_bytes = rest};
}

}  // namespace hawser::transport::tcp
