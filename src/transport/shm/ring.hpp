// A ring: bounded, one sender, one receiver, in the receiver's segment. The dedicated channel of a
// peer that earned it: a small frame costs the transfer of one cache line.
//
//   RingHeader | RingLine × line_count | bulk area (bulk_bytes)
//
// The sender writes a frame into the next line (or into the bulk area, contiguous, if it is longer)
// and then stores the line's control word with release. The receiver polls that one word. It says
// how far it is in RingHeader::consumed, but only now and then; the sender looks at it only when it
// has no room. Bulk space is freed with the line that uses it: the sender remembers per line where
// its bulk ended.
// Crash safety: a dead sender leaves an uncommitted line, which is never read; a dead receiver a
// ring that stays full.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "transport/shm/layout.hpp"

namespace hawser::transport::shm {

struct RingShape {
  std::uint32_t line_count;  // a power of two
  std::uint32_t bulk_bytes;  // a multiple of the cache line

  [[nodiscard]] std::size_t bytes() const {
    return sizeof(RingHeader) + line_count * sizeof(RingLine) + bulk_bytes;
  }
  /// So that several frames of the largest size fit, and the control word can say its length.
  [[nodiscard]] std::size_t frame_bytes_max() const {
    return std::clamp<std::size_t>(bulk_bytes / 4, line_frame_bytes, ring_frame_bytes_max);
  }
};

namespace ring_control {

constexpr std::uint64_t make(FrameType type, std::size_t frame_bytes, std::uint64_t position) {
  return (static_cast<std::uint64_t>(type) << 56) |
         (static_cast<std::uint64_t>(frame_bytes) << 32) | static_cast<std::uint32_t>(position + 1);
}
constexpr std::uint32_t stamp(std::uint64_t control) { return static_cast<std::uint32_t>(control); }
constexpr std::size_t frame_bytes(std::uint64_t control) {
  return (control >> 32) & ring_frame_bytes_max;
}
constexpr FrameType type(std::uint64_t control) { return static_cast<FrameType>(control >> 56); }

}  // namespace ring_control

namespace ring_bulk {

/// Where a frame of BYTES goes if the bulk area is used up to TAIL (both count up for ever): it
/// never wraps, so the rest of a lap that is too short for it is skipped. Sender and receiver
/// compute it alike.
constexpr std::uint64_t place(std::uint64_t tail, std::size_t bytes, std::uint32_t bulk_bytes) {
  const std::uint64_t offset = tail % bulk_bytes;
  return offset + bytes <= bulk_bytes ? tail : tail + (bulk_bytes - offset);
}
constexpr std::uint64_t rounded(std::size_t bytes) {
  return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

}  // namespace ring_bulk

class RingSender {
 public:
  RingSender(std::byte* memory, RingShape shape)
      : shape_(shape),
        header_(reinterpret_cast<RingHeader*>(memory)),
        lines_(reinterpret_cast<RingLine*>(memory + sizeof(RingHeader))),
        bulk_(memory + sizeof(RingHeader) + shape.line_count * sizeof(RingLine)),
        bulk_end_(shape.line_count) {}

  /// Room for a frame, or null.
  std::byte* reserve(std::size_t frame_bytes) {
    if (position_ - consumed_ >= shape_.line_count && !refresh()) return nullptr;
    reserved_bytes_ = frame_bytes;
    if (frame_bytes <= line_frame_bytes) {
      reserved_bulk_tail_ = bulk_tail_;
      return line().frame;
    }
    return reserve_bulk(frame_bytes);
  }
  [[nodiscard]] RoomWanted& room() const { return header_->room; }
  void commit(FrameType type) {
    bulk_tail_ = reserved_bulk_tail_;
    bulk_end_[position_ & (shape_.line_count - 1)] = bulk_tail_;
    line().control.store(ring_control::make(type, reserved_bytes_, position_),
                         std::memory_order_release);
    ++position_;
  }

 private:
  RingLine& line() { return lines_[position_ & (shape_.line_count - 1)]; }

  std::byte* reserve_bulk(std::size_t frame_bytes) {
    const std::uint64_t start = ring_bulk::place(bulk_tail_, frame_bytes, shape_.bulk_bytes);
    const std::uint64_t end = start + ring_bulk::rounded(frame_bytes);
    if (end - bulk_head_ > shape_.bulk_bytes) {
      refresh();
      if (end - bulk_head_ > shape_.bulk_bytes) return nullptr;
    }
    reserved_bulk_tail_ = end;
    return bulk_ + start % shape_.bulk_bytes;
  }
  /// Looks how far the receiver is; true if a line is free. What it says is bounded by what we
  /// sent.
  bool refresh() {
    const std::uint64_t consumed = header_->consumed.load(std::memory_order_acquire);
    if (consumed > consumed_ && consumed <= position_) {
      consumed_ = consumed;
      bulk_head_ = bulk_end_[(consumed - 1) & (shape_.line_count - 1)];
    }
    return position_ - consumed_ < shape_.line_count;
  }

  RingShape shape_;
  RingHeader* header_;
  RingLine* lines_;
  std::byte* bulk_;
  std::uint64_t position_ = 0;  // of the next line
  std::uint64_t consumed_ = 0;  // as last seen
  std::uint64_t bulk_tail_ = 0;
  std::uint64_t bulk_head_ = 0;
  std::uint64_t reserved_bulk_tail_ = 0;
  std::size_t reserved_bytes_ = 0;
  std::vector<std::uint64_t> bulk_end_;  // per line: bulk_tail_ after its frame
};

class RingReceiver {
 public:
  RingReceiver(std::byte* memory, RingShape shape)
      : shape_(shape),
        header_(reinterpret_cast<RingHeader*>(memory)),
        lines_(reinterpret_cast<RingLine*>(memory + sizeof(RingHeader))),
        bulk_(memory + sizeof(RingHeader) + shape.line_count * sizeof(RingLine)) {}

  /// The next frame, if there is one; it is valid until pop(). A length that the sender can't have
  /// meant gives an empty frame (the layer above refuses it).
  bool front(FrameType* type, std::span<const std::byte>* frame) {
    RingLine& line = lines_[position_ & (shape_.line_count - 1)];
    const std::uint64_t control = line.control.load(std::memory_order_acquire);
    if (ring_control::stamp(control) != static_cast<std::uint32_t>(position_ + 1)) return false;
    *type = ring_control::type(control);
    const std::size_t bytes = ring_control::frame_bytes(control);
    if (bytes <= line_frame_bytes) {
      *frame = {line.frame, bytes};
    } else if (bytes > shape_.bulk_bytes) {
      *frame = {};
    } else {
      const std::uint64_t start = ring_bulk::place(bulk_tail_, bytes, shape_.bulk_bytes);
      bulk_tail_ = start + ring_bulk::rounded(bytes);
      *frame = {bulk_ + start % shape_.bulk_bytes, bytes};
    }
    return true;
  }
  /// In a round that found nothing: tells the sender how far we are.
  void rest() {
    if (position_ != published_) publish();
  }
  [[nodiscard]] RoomWanted& room() const { return header_->room; }
  /// Whether room was published to the sender since the last call.
  bool take_published() { return std::exchange(has_published_, false); }
  void pop() {
    ++position_;
    // Often enough that a sender never waits for long, rarely enough that the word stays ours.
    if (position_ - published_ >= shape_.line_count / 4 ||
        bulk_tail_ - published_bulk_ >= shape_.bulk_bytes / 4)
      publish();
  }

 private:
  void publish() {
    header_->consumed.store(position_, std::memory_order_release);
    published_ = position_;
    published_bulk_ = bulk_tail_;
    has_published_ = true;
  }

  RingShape shape_;
  RingHeader* header_;
  RingLine* lines_;
  std::byte* bulk_;
  std::uint64_t position_ = 0;
  std::uint64_t bulk_tail_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t published_bulk_ = 0;
  bool has_published_ = false;
};

}  // namespace hawser::transport::shm
