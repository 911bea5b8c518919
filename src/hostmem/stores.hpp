// Stores: by which kind of stores this process copies long runs of bytes into memory that another
// one reads: what is quicker depends on whether the two cores share a cache, which nobody tells us,
// and which changes when a process, or a virtual machine, is moved. So it is measured, now and
// then.
//
// A state machine without a clock: next() says how the next run of bytes is to be copied and
// whether its time is wanted; took() hears it. MeasuredCopy is both together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/copy.hpp"
#include "platform/clock.hpp"

namespace hawser::hostmem {

class Stores {
 public:
  struct Choice {
    bool past_cache = false;
    bool is_measured = false;  // always with plain stores
  };

  /// Of a run of BYTES. Only long ones tell: in short ones the way to the first line counts most,
  /// which stores past the cache do not shorten.
  Choice next(std::size_t bytes) {
    if (bytes < long_run_bytes) return {};
    const bool measured = --left_ == 0;
    if (measured) left_ = runs_between_looks;
    return {past_cache_ && !measured, measured};
  }
  /// BYTES took NS with plain stores. One slow run may be an accident (an interrupt): it takes
  /// several to change the choice.
  void took(std::size_t bytes, std::uint64_t ns) {
    const bool slow = ns * 1024 > bytes * plain_ns_per_kib_max;
    if (slow == past_cache_) {
      opposite_ = 0;
    } else if (++opposite_ >= looks_to_change) {
      past_cache_ = slow;
      opposite_ = 0;
    }
    // In doubt it looks again soon.
    left_ = opposite_ > 0 ? runs_in_doubt : runs_between_looks;
  }
  [[nodiscard]] bool are_past_cache() const { return past_cache_; }

 private:
  /// Plain stores to lines of a core that shares our cache take 40 to 80 ns per KiB, to those of
  /// another one above 200; stores past the cache 100 in either case.
  static constexpr std::size_t long_run_bytes = 4096;
  static constexpr std::uint64_t plain_ns_per_kib_max = 130;
  static constexpr std::uint32_t runs_between_looks = 64;
  static constexpr std::uint32_t runs_in_doubt = 4;
  static constexpr std::uint32_t looks_to_change = 3;

  bool past_cache_ = false;
  std::uint32_t left_ = runs_in_doubt;  // until the next look
  std::uint32_t opposite_ = 0;          // looks in a row that speak for the other kind
};

/// Copies, by the kind of stores that was found to be quicker.
class MeasuredCopy {
 public:
  void operator()(std::byte* to, const std::byte* from, std::size_t bytes) {
    const Stores::Choice choice = stores_.next(bytes);
    if (choice.past_cache) {
      base::copy_past_cache(to, from, bytes);
      return;
    }
    const std::uint64_t began_ns = choice.is_measured ? platform::monotonic_ns() : 0;
    base::copy_bytes(to, from, bytes);
    if (choice.is_measured) stores_.took(bytes, platform::monotonic_ns() - began_ns);
  }

 private:
  Stores stores_;
};

}  // namespace hawser::hostmem
