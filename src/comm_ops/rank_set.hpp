// RankSet: some of the ranks of a group, as bits.
//
// Threads: a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/assert.hpp"

namespace hawser::comm_ops {

class RankSet {
 public:
  RankSet() = default;
  /// None of the ranks [0, SIZE), or all of them.
  explicit RankSet(int size, bool all = false)
      : size_(size),
        words_((static_cast<std::size_t>(size) + 63) / 64, all ? ~std::uint64_t{0} : 0) {
    if (all && size % 64 != 0) words_.back() = (std::uint64_t{1} << (size % 64)) - 1;
  }

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool has(int rank) const { return (word(rank) & bit(rank)) != 0; }
  void add(int rank) { words_[index(rank)] |= bit(rank); }
  void remove(int rank) { words_[index(rank)] &= ~bit(rank); }
  void unite(const RankSet& other) { combine(other, std::bit_or<>()); }
  void intersect(const RankSet& other) { combine(other, std::bit_and<>()); }
  /// Every rank of this set is in OTHER.
  [[nodiscard]] bool is_within(const RankSet& other) const {
    RankSet both = *this;
    both.intersect(other);
    return both == *this;
  }
  /// The lowest rank in [0, size()) that is not in the set; size() if all are.
  [[nodiscard]] int first_missing() const {
    int rank = 0;
    while (rank < size_ && has(rank)) ++rank;
    return rank;
  }

  /// For messages. From words that came from elsewhere: false if there are bits of no rank.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }
  [[nodiscard]] bool is_valid() const { return is_within(RankSet(size_, true)); }

  friend bool operator==(const RankSet&, const RankSet&) = default;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank) / 64; }
  static std::uint64_t bit(int rank) { return std::uint64_t{1} << (rank % 64); }
  [[nodiscard]] std::uint64_t word(int rank) const { return words_[index(rank)]; }
  template <class Operation>
  void combine(const RankSet& other, Operation operation) {
    HAWSER_ASSERT(size_ == other.size_);
    std::ranges::transform(words_, other.words_, words_.begin(), operation);
  }

  int size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace hawser::comm_ops
