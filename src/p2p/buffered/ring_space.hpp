// RingSpace: which bytes of a buffer are free, as MPI-5.0 §3.6.1 models an attached buffer.
//
// A block goes behind the one that was taken last, else to the first gap from the start on. That
// never fails where the standard's model, which frees blocks in the order of sending, has room.
// Ownership: knows offsets only. Threads: none; the owner locks.
#pragma once

#include <map>
#include <optional>

#include "base/ids.hpp"

namespace hawser::p2p {

using base::Count;

template <class Block>
class RingSpace {
 public:
  explicit RingSpace(Count bytes) : bytes_(bytes) {}

  /// The offset of BYTES (at least one) consecutive free bytes; they are taken by insert().
  [[nodiscard]] std::optional<Count> find(Count bytes) const {
    const auto next = blocks_.lower_bound(tail_);
    const Count end = next == blocks_.end() ? bytes_ : next->first;
    if (bytes <= end - tail_) return tail_;
    Count start = 0;
    for (const auto& [offset, taken] : blocks_) {
      if (bytes <= offset - start) return start;
      start = offset + taken.bytes;
    }
    if (bytes <= bytes_ - start) return start;
    return std::nullopt;
  }
  void insert(Count offset, Count bytes, Block block) {
    blocks_.emplace(offset, Taken{bytes, std::move(block)});
    tail_ = offset + bytes;
  }

  /// Frees the oldest blocks as long as IS_FREE(block).
  template <class IsFree>
  void free_oldest(IsFree&& is_free) {
    while (!blocks_.empty()) {
      auto oldest = blocks_.lower_bound(tail_);
      if (oldest == blocks_.end()) oldest = blocks_.begin();
      if (!is_free(oldest->second.block)) return;
      blocks_.erase(oldest);
    }
    tail_ = 0;
  }
  /// Frees every block for which IS_FREE(block).
  template <class IsFree>
  void free_all(IsFree&& is_free) {
    std::erase_if(blocks_, [&](const auto& entry) { return is_free(entry.second.block); });
    if (blocks_.empty()) tail_ = 0;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& entry : blocks_) visit(entry.second.block);
  }
  [[nodiscard]] Count bytes() const { return bytes_; }
  [[nodiscard]] Count bytes_taken() const {
    Count sum = 0;
    for (const auto& entry : blocks_) sum += entry.second.bytes;
    return sum;
  }

 private:
  struct Taken {
    Count bytes;
    Block block;
  };

  const Count bytes_;
  std::map<Count, Taken> blocks_;  // by offset
  Count tail_ = 0;                 // the end of the block that was taken last
};

}  // namespace hawser::p2p
