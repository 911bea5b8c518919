#include "core/group/rank_selection.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace hawser::core {

Result<RankSelection> RankSelection::of_ranks(int group_size, std::span<const int> ranks) {
  RankSelection selection(group_size);
  for (const int rank : ranks) HAWSER_TRY(selection.add(rank));
  return selection;
}

Result<RankSelection> RankSelection::of_ranges(int group_size,
                                               std::span<const Group::Range> ranges) {
  RankSelection selection(group_size);
  for (const Group::Range& range : ranges) HAWSER_TRY(selection.add(range));
  return selection;
}

Result<void> RankSelection::add(int rank) {
  if (rank < 0 || rank >= size_) {
    return Error(ErrorClass::rank,
                 fmt::format("rank {} is not in [0,{}) of the group", rank, size_));
  }
  if (contains(rank)) {
    return Error(ErrorClass::rank,
                 fmt::format("rank {} is named twice; ranks must be distinct", rank));
  }
  chosen_[static_cast<std::size_t>(rank)] = true;
  ranks_.push_back(rank);
  return {};
}

Result<void> RankSelection::add(const Group::Range& range) {
  const auto text = [&range] {
    return fmt::format("({}, {}, {})", range.first, range.last, range.stride);
  };
  if (range.stride == 0) {
    return Error(ErrorClass::arg, fmt::format("the stride of range {} is zero", text()));
  }
  // 64 bits, because the distance of two ints need not fit in one.
  const std::int64_t distance = std::int64_t{range.last} - range.first;
  if (distance != 0 && (distance > 0) != (range.stride > 0)) {
    return Error(ErrorClass::arg,
                 fmt::format("the stride of range {} leads away from its last rank", text()));
  }
  // Ends at the first rank that is refused, so that a bad range costs no more than a good one.
  const std::int64_t steps = distance / range.stride;
  for (std::int64_t step = 0; step <= steps; ++step) {
    HAWSER_TRY(add(static_cast<int>(range.first + step * range.stride)));
  }
  return {};
}

}  // namespace hawser::core
