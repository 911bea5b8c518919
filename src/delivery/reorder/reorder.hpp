// ReorderBuffer: restores the order of one peer's frames that came over several channels.
//
// Pure state machine: frames in, frames in order out; owns no clock and no channel.
// Ownership: one per peer, owned by its endpoint; copies the frames that came early.
// Bounds:    a sender stays within `window` sequence numbers of what was delivered where its
//            channels may lose frames; over reliable channels what can be early is bounded by
//            their capacity. A frame further ahead than `window` is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memory/ledger/ledger.hpp"

namespace hawser::delivery {

class ReorderBuffer {
 public:
  static constexpr std::uint32_t window = 1U << 16;

  /// FIRST: the number of the peer's first frame.
  explicit ReorderBuffer(memory::Ledger& ledger, std::uint32_t first = 0)
      : ledger_(ledger), expected_(first) {}
  ~ReorderBuffer() { clear(); }
  ReorderBuffer(const ReorderBuffer&) = delete;
  ReorderBuffer& operator=(const ReorderBuffer&) = delete;

  enum class Verdict : std::uint8_t {
    in_order,  // deliver it now, then call take_next() until it has nothing
    early,     // kept
    refused,   // a duplicate, or out of the window: dropped
  };
  /// FRAME, and perhaps its REST that lies elsewhere, has number SEQUENCE (they count up and wrap
  /// at 2^32).
  Verdict accept(std::uint32_t sequence, std::span<const std::byte> frame,
                 std::span<const std::byte> rest = {}) {
    if (sequence == expected_) [[likely]] {
      ++expected_;
      return Verdict::in_order;
    }
    return keep(sequence, frame, rest);
  }
  /// accept() where nothing is early: true if frame SEQUENCE is in order, and no other is to be
  /// delivered behind it. False: nothing has happened.
  bool accept_plain(std::uint32_t sequence) {
    if (sequence != expected_ || has_early()) [[unlikely]]
      return false;
    ++expected_;
    return true;
  }
  /// The frame numbered expected() was delivered past us; nothing may be early.
  void skip() { ++expected_; }
  [[nodiscard]] bool has_early() const { return early_ != nullptr; }
  /// The next frame in order among those that came early.
  std::optional<std::vector<std::byte>> take_next();
  /// Gives up what came early: the peer is gone, and what is missing will not come.
  void clear();
  [[nodiscard]] std::uint32_t expected() const { return expected_; }
  /// What has come, whether it was taken or not.
  struct Arrived {
    std::uint32_t missing;     // the first frame that has not: beyond expected() while take_next()
                               // has more to give
    std::uint64_t early_bits;  // bit i: the frame missing + 1 + i is kept
  };
  [[nodiscard]] Arrived arrived() const;

 private:
  using Frames = std::map<std::uint32_t, std::vector<std::byte>>;

  Verdict keep(std::uint32_t sequence, std::span<const std::byte> frame,
               std::span<const std::byte> rest);

  memory::Ledger& ledger_;
  std::uint32_t expected_;
  // Null while nothing is early, which is nearly always. Keyed by sequence.
  std::unique_ptr<Frames> early_;
};

}  // namespace hawser::delivery
