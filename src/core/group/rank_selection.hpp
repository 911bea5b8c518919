// RankSelection: the distinct ranks of a group that a caller named, one by one or by ranges.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/group/group.hpp"

namespace hawser::core {

class RankSelection {
 public:
  static Result<RankSelection> of_ranks(int group_size, std::span<const int> ranks);
  static Result<RankSelection> of_ranges(int group_size, std::span<const Group::Range> ranges);

  /// In the order in which they were named.
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  [[nodiscard]] bool contains(int rank) const { return chosen_[static_cast<std::size_t>(rank)]; }

 private:
  explicit RankSelection(int group_size)
      : size_(group_size), chosen_(static_cast<std::size_t>(group_size)) {}
  Result<void> add(int rank);
  Result<void> add(const Group::Range& range);

  int size_;
  std::vector<bool> chosen_;
  std::vector<int> ranks_;
};

}  // namespace hawser::core
