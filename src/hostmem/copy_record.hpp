// CopyRecord: what copies of one kind take, as far as they were timed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hostmem/pace.hpp"

namespace hawser::hostmem {

/// A mean, since it is the work that counts. One run may meet an interrupt.
class CopyRecord {
 public:
  /// The next bytes do not count, and what counted before them is forgotten then.
  void begin_again(std::size_t bytes) { left_out_bytes_ = bytes; }
  /// A run of BYTES took NS.
  void add(std::size_t bytes, std::uint64_t ns) {
    if (left_out_bytes_ > 0) {
      left_out_bytes_ -= std::min(left_out_bytes_, bytes);
      runs_ = 0;
      return;
    }
    const std::uint32_t pace = std::max<std::uint32_t>(pace_of(bytes, ns), 1);
    if (runs_ < runs_at_first) {
      pace_ = runs_ == 0 ? pace : std::min(pace_, pace);
      ++runs_;
    } else {
      runs_ = std::min<std::uint32_t>(runs_ + 1, runs_max);
      pace_ = ((runs_ - 1) * pace_ + std::min(pace, 3 * pace_)) / runs_;
    }
  }
  /// Whether to time a run of what is settled: one in a few.
  bool is_due() {
    untimed_ = static_cast<std::uint8_t>((untimed_ + 1) % runs_per_look);
    return untimed_ == 0;
  }
  /// It is known what they take.
  [[nodiscard]] bool is_settled() const { return left_out_bytes_ == 0 && runs_ >= runs_min; }
  /// In 1/16 ns per KiB.
  [[nodiscard]] std::uint32_t pace() const { return pace_; }

 private:
  static constexpr std::uint32_t runs_at_first = 3;  // of which the quickest counts
  static constexpr std::uint32_t runs_min = 4;
  static constexpr std::uint32_t runs_max = 32;  // that a mean is of
  /// The clock costs 50 ns. Odd, as the number of chunks of a message seldom is.
  static constexpr std::uint8_t runs_per_look = 9;
  std::size_t left_out_bytes_ = 0;
  std::uint32_t pace_ = 0;
  std::uint32_t runs_ = 0;
  std::uint8_t untimed_ = 0;  // since the last look
};

}  // namespace hawser::hostmem
