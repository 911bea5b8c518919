// ContextCache: a model of the memory that an adapter of hardware keeps the contexts of its queue
// pairs in. What is not there has to be fetched from the host, which takes time: the reason that
// programs with many connections are slow on hardware, and what counting here shows.
//
// Sets of four entries, of which the one that was used longest ago goes. Threads: the device's
// lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace softrdma::device {

class ContextCache {
 public:
  /// ENTRIES: rounded up to a multiple of four; at least four.
  explicit ContextCache(std::uint32_t entries)
      : sets_(std::max<std::size_t>((entries + ways - 1) / ways, 1)) {}

  /// Queue pair NUMBER is used; false if its context has to be fetched.
  bool touch(std::uint32_t number) {
    Set& set = sets_[number % sets_.size()];
    const auto found = std::ranges::find(set, number);
    const bool is_hit = found != set.end();
    // The latest is the first.
    std::rotate(set.begin(), is_hit ? found : set.end() - 1, is_hit ? found + 1 : set.end());
    set.front() = number;
    return is_hit;
  }

 private:
  static constexpr std::size_t ways = 4;
  // No queue pair has number 0.
  using Set = std::array<std::uint32_t, ways>;
  std::vector<Set> sets_;
};

}  // namespace softrdma::device
