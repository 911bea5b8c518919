#include "transport/tcp/record_reader.hpp"

#include <cstring>

namespace hawser::transport::tcp {

std::span<std::byte> RecordReader::room() {
  constexpr std::size_t worth_reading_to = memory_bytes / 4;
  const bool is_tight =
      memory_bytes - begin_ < record_bytes_max || memory_bytes - end_ < worth_reading_to;
  if (is_empty()) {
    begin_ = end_ = 0;
  } else if (is_tight && begin_ > 0) {
    std::memmove(memory_, memory_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {memory_ + end_, memory_bytes - end_};
}

RecordReader::Record RecordReader::next() {
  const std::span<std::byte> here(memory_ + begin_, end_ - begin_);
  if (here.size() < sizeof(RecordHeader)) return {};
  const std::optional<RecordHeader> header = parse_record_header(here);
  if (!header) return {.state = Record::State::bad};
  const std::size_t whole_bytes = record_bytes(header->body_bytes, unseal_.has_value());
  if (here.size() < whole_bytes) return {};
  const std::span<std::byte> body = here.subspan(sizeof(RecordHeader), header->body_bytes);
  if (unseal_ && !unseal_->apply(*header, body)) return {.state = Record::State::bad};
  begin_ += whole_bytes;
  return {.state = Record::State::whole, .type = header->type, .body = body};
}

}  // namespace hawser::transport::tcp
