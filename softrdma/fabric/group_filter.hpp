// GroupFilter: what the processes of a host know of one another's multicast groups: a word of each
// seat with a bit for every group that a process has joined. Groups may share a bit, so that a
// packet comes to a process that has no use for it; none fails to come.
//
// Ownership: borrows the word, which is this process's seat's. Threads: the device's lock; the
// others read the word.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "softrdma/wire/icrc.hpp"

namespace softrdma::fabric {

class GroupFilter {
 public:
  explicit GroupFilter(std::atomic<std::uint64_t>& word) : word_(word) {}

  void add(const wire::Address& group) {
    if (counts_[position_of(group)]++ == 0) word_.fetch_or(bit_of(group));
  }
  /// GROUP was added.
  void remove(const wire::Address& group) {
    if (--counts_[position_of(group)] == 0) word_.fetch_and(~bit_of(group));
  }
  /// Whether the process with WORD may have joined GROUP.
  static bool may_have(const std::atomic<std::uint64_t>& word, const wire::Address& group) {
    return (word.load(std::memory_order_relaxed) & bit_of(group)) != 0;
  }

 private:
  static constexpr std::size_t bits = 64;
  /// Groups of one program often differ in their last bytes alone, which then get bits of their
  /// own.
  static std::size_t position_of(const wire::Address& group) {
    constexpr std::size_t odd = 31;
    std::size_t sum = 0;
    for (const std::byte one : group) sum = sum * odd + std::to_integer<std::size_t>(one);
    return sum % bits;
  }
  static std::uint64_t bit_of(const wire::Address& group) {
    return std::uint64_t{1} << position_of(group);
  }

  std::atomic<std::uint64_t>& word_;
  std::array<std::uint32_t, bits> counts_{};  // groups of each bit
};

}  // namespace softrdma::fabric
