// Segments of a message that is received without copies, in their order: what both ends agree
// upon, and the receiver's account of them.
//
// A message is cut into segments of one size, the last one shorter, one datagram each. The
// receiver opens a batch of them by a ClearToSend; when the batch is complete, the next one.
//
// Immediate data of a segment's datagram, in the order of the network as all immediate data:
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +-----------------------+---------------------------------------+
//   | transfer (12)         | segment (20), from 0 in each transfer |
//   +-----------------------+---------------------------------------+
//
// What clears the way, in the host's (little-endian) order:
//   +---------------------------------------------------------------+
//   | number of the receiver's queue pair                           |
//   +---------------------------------------------------------------+
//   | queue key: of this transfer alone                             |
//   +-------------------------------+-------------------------------+
//   | transfer                      | bytes of a segment            |
//   +-------------------------------+-------------------------------+
//   | first segment of the batch                                    |
//   +---------------------------------------------------------------+
//   | segments of the batch                                         |
//   +---------------------------------------------------------------+
//
// Pure state machine: completions and `now` in, a Step out; owns no queue pair, memory or clock.
// Threads: the lane lock.
// Source:  Koop, Sur, Panda: Zero-Copy Protocol for MPI using InfiniBand Unreliable Datagram
//          (Cluster 2007), as MVAPICH-Aptus uses it; layout and keys are our own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.hpp"
#include "transport/verbs/zero_copy_settings.hpp"

namespace hawser::transport::verbs {

using base::never_ns;

/// What a segment says of itself.
struct SegmentNumber {
  static constexpr std::uint32_t segment_bits = 20;
  static constexpr std::uint32_t segments_max = 1U << segment_bits;
  static constexpr std::uint32_t transfers = 1U << (32 - segment_bits);

  std::uint32_t transfer = 0;
  std::uint32_t segment = 0;

  static constexpr SegmentNumber from_bits(std::uint32_t bits) {
    return {bits >> segment_bits, bits % segments_max};
  }
  [[nodiscard]] constexpr std::uint32_t bits() const { return transfer << segment_bits | segment; }
  bool operator==(const SegmentNumber&) const = default;
};

/// How a message is cut.
struct Segmentation {
  std::size_t message_bytes = 0;
  std::size_t segment_bytes = 1;

  [[nodiscard]] constexpr std::size_t count() const {
    return (message_bytes + segment_bytes - 1) / segment_bytes;
  }
  [[nodiscard]] constexpr std::size_t offset_of(std::uint32_t segment) const {
    return segment * segment_bytes;
  }
  [[nodiscard]] constexpr std::size_t bytes_of(std::uint32_t segment) const {
    return std::min(segment_bytes, message_bytes - offset_of(segment));
  }
};

/// What the sender has to know of the batch that it may send.
struct ClearToSend {
  static constexpr std::uint32_t queue_pair_numbers = 1U << 24;

  std::uint32_t queue_pair = 0;
  std::uint32_t queue_key = 0;
  std::uint16_t transfer = 0;
  std::uint16_t segment_bytes = 0;
  std::uint32_t first_segment = 0;
  std::uint32_t segments = 0;

  /// Whether it is about segments that a message of MESSAGE_BYTES has, and that the sender's port
  /// can send: the peer may say anything.
  [[nodiscard]] constexpr bool fits(std::size_t message_bytes, std::size_t mtu_bytes) const {
    return segment_bytes > 0 && segment_bytes <= mtu_bytes && queue_pair < queue_pair_numbers &&
           transfer < SegmentNumber::transfers && segments > 0 &&
           std::uint64_t{first_segment} + segments <=
               std::min<std::uint64_t>(Segmentation{message_bytes, segment_bytes}.count(),
                                       SegmentNumber::segments_max);
  }
};
static_assert(sizeof(ClearToSend) == 20);

/// The account of one transfer at its receiver.
class IncomingSegments {
 public:
  enum class Step : std::uint8_t {
    wait,        // for more segments, or for nothing
    next_batch,  // all receives are used up; open_batch() follows
    finished,    // the message is here
    failed       // a segment was lost, late, doubled or not ours: the memory holds anything
  };
  struct Batch {
    std::uint32_t first;
    std::uint32_t count;
  };

  /// A message of 1 to SegmentNumber::segments_max segments; open_batch() follows.
  void start(std::uint32_t transfer, const Segmentation& cut, const ZeroCopySettings& settings) {
    *this = IncomingSegments{};
    transfer_ = transfer;
    cut_ = cut;
    depth_ = settings.receive_depth;
    first_timeout_ns_ = settings.first_timeout_ns;
    next_timeout_ns_ = settings.next_timeout_ns;
  }

  /// The segments that receives are to be posted for. Batches are alike in size, as a last one of
  /// one segment would be lost as a whole.
  Batch open_batch(std::uint64_t now_ns) {
    const auto left = static_cast<std::uint32_t>(cut_.count()) - arrived_;
    const std::uint32_t batches = (left + depth_ - 1) / depth_;
    const std::uint32_t size = (left + batches - 1) / batches;
    opened_ = arrived_ + size;
    deadline_ns_ = now_ns + first_timeout_ns_;
    return {arrived_, size};
  }

  /// The receive that is next in turn has got BYTES with IMMEDIATE.
  Step on_segment(std::uint32_t immediate, std::size_t bytes, std::uint64_t now_ns) {
    const SegmentNumber expected{transfer_, arrived_};
    if (arrived_ == opened_ || immediate != expected.bits() || bytes != cut_.bytes_of(arrived_))
      return end(Step::failed);
    deadline_ns_ = now_ns + next_timeout_ns_;
    if (++arrived_ < opened_) return Step::wait;
    return end(arrived_ == cut_.count() ? Step::finished : Step::next_batch);
  }

  /// When on_time() finds that the sender has been silent for too long.
  [[nodiscard]] std::uint64_t deadline_ns() const { return deadline_ns_; }
  Step on_time(std::uint64_t now_ns) {
    return now_ns < deadline_ns_ ? Step::wait : end(Step::failed);
  }

  [[nodiscard]] const Segmentation& cut() const { return cut_; }
  [[nodiscard]] std::uint32_t transfer() const { return transfer_; }

 private:
  Step end(Step step) {
    deadline_ns_ = never_ns;
    return step;
  }

  Segmentation cut_;
  std::uint32_t transfer_ = 0;
  std::uint32_t arrived_ = 0;  // segments, in their order
  std::uint32_t opened_ = 0;   // segments that receives were posted for
  std::uint32_t depth_ = 1;
  std::uint64_t first_timeout_ns_ = 0;
  std::uint64_t next_timeout_ns_ = 0;
  std::uint64_t deadline_ns_ = never_ns;
};

}  // namespace hawser::transport::verbs
