// TagRanges: hands out ranges of internal tags, one tag for each partition of a send.
//
// Goes round the whole space of tags before it gives one out again, so that messages of a range
// that was given back are long gone, and passes over ranges that are still taken.
// Threads: none; the owner locks.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace hawser::p2p {

class TagRanges {
 public:
  /// Tags are below END.
  explicit TagRanges(std::int64_t end) : end_(end) {}

  /// The first of COUNT consecutive tags; nothing if no gap is that wide. An empty range is 0.
  std::optional<int> take(int count) {
    if (count == 0) return 0;
    std::optional<std::int64_t> first = search(next_, end_, count);
    if (!first) first = search(0, end_, count);
    if (!first) return std::nullopt;
    taken_.emplace(*first, *first + count);
    next_ = *first + count;
    return static_cast<int>(*first);
  }
  void give_back(int first, int count) {
    if (count > 0) taken_.erase(first);
  }

 private:
  /// The first gap of COUNT tags in [from, to).
  [[nodiscard]] std::optional<std::int64_t> search(std::int64_t from, std::int64_t to,
                                                   std::int64_t count) const {
    auto next = taken_.upper_bound(from);
    if (next != taken_.begin()) {
      const std::int64_t end_of_previous = std::prev(next)->second;
      if (end_of_previous > from) from = end_of_previous;
    }
    for (; next != taken_.end() && next->first < from + count; ++next) from = next->second;
    if (from + count > to) return std::nullopt;
    return from;
  }

  const std::int64_t end_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, std::int64_t> taken_;  // first -> end
};

}  // namespace hawser::p2p
