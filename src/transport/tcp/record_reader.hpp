// RecordReader: takes records (wire.hpp) out of the bytes of a connection, where they were read to.
//
//   memory | taken | records that are whole … | a part of one | room |
//
// A record begins at a multiple of 8 of the stream. A place in memory differs from that in the
// stream by a multiple of 8: what is left over is moved to the front by one alone. Data, which is
// long and wanted elsewhere, is told of as soon as its header is there, and what is missing of it
// is not read to this memory. Ownership: borrows memory while it has some bytes; values. Threads:
// one at a time. Bounds:    the memory: a record that could not fit in it is refused by its header.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/tcp/seal.hpp"

namespace hawser::transport::tcp {

class RecordReader {
 public:
  /// Room for the longest record, and for many short ones at a time.
  static constexpr std::size_t memory_bytes = std::size_t{256} * 1024;
  static_assert(memory_bytes >= 2 * record_bytes_max);

  /// What comes is encrypted with KEY, if there is one.
  explicit RecordReader(const std::optional<SealKey>& key) {
    if (key) unseal_.emplace(*key);
  }

  [[nodiscard]] bool has_memory() const { return memory_ != nullptr; }
  /// From now on bytes are read to MEMORY, of memory_bytes, aligned to 8.
  void use(std::byte* memory) { memory_ = memory; }
  /// There is nothing in it: it may be used for something else.
  [[nodiscard]] bool is_empty() const { return begin_ == end_; }
  void forget_memory() { memory_ = nullptr; }

  /// Where to read more to; never empty once next() has said `none`. Ends what next() gave.
  std::span<std::byte> room();
  void note_read(std::size_t bytes) { end_ += bytes; }
  /// What is missing of a record of which there is a part: 0 if that is not known, or there is
  /// none.
  [[nodiscard]] std::size_t missing_bytes() const;

  struct Record {
    enum class State : std::uint8_t {
      none,   // until more is read
      whole,  // until room() is called
      bad     // nothing good can follow
    };
    State state = State::none;
    RecordType type = RecordType::frame;
    std::span<const std::byte> body = {};  // aligned to 8
    std::size_t rest_bytes = 0;            // of data: what is to be read elsewhere first
  };
  Record next();

 private:
  Record take_data(const RecordHeader& header, std::span<const std::byte> here);
  /// The zeros behind the last record that have not come yet, or were not taken.
  [[nodiscard]] std::size_t zeros() const {
    return (record_alignment - begin_ % record_alignment) % record_alignment;
  }

  std::optional<Unseal> unseal_;
  std::byte* memory_ = nullptr;
  std::size_t begin_ = 0;  // of what was not taken
  std::size_t end_ = 0;
};

}  // namespace hawser::transport::tcp
