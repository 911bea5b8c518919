// What the reductions of teams share: items of a contiguous type.
#pragma once

#include <algorithm>

#include "base/copy.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {

/// Items of a contiguous type.
struct Items {
  Datatype& type;
  Op& op;
  [[nodiscard]] Count bytes(Count count) const { return count * type.size(); }
  void copy(void* to, const void* from, Count count) const {
    base::copy_bytes(to, from, size_of(bytes(count)));
  }
  /// into = source(0) op source(1) op … op source(MEMBERS - 1), where INTO is none of them. Run by
  /// run, so that what is made stays in the cache until it is done.
  template <class Source>
  void combine(Source source, int members, std::byte* into, Count count) const {
    constexpr Count run_bytes = 8192;
    const Count run = std::max<Count>(1, run_bytes / std::max<Count>(1, type.size()));
    const core::Kernel kernel = op.kernel_for(type);
    const auto apply = [&](const std::byte* in, std::byte* inout, Count items) {
      kernel != nullptr ? kernel(in, inout, items) : op.apply(in, inout, items, type);
    };
    for (Count first = 0; first < count; first += run) {
      const Count begin = bytes(first), now = std::min(run, count - first);
      copy(into + begin, source(members - 1) + begin, now);
      for (int member = members - 2; member >= 0; --member)
        apply(source(member) + begin, into + begin, now);
    }
  }
};

}  // namespace hawser::collective
