// What the reductions of teams share: items of a contiguous type.
#pragma once

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
  /// into = source(0) op source(1) op … op source(MEMBERS - 1), where INTO is none of them.
  template <class Source>
  void combine(Source source, int members, void* into, Count count) const {
    if (count == 0) return;
    copy(into, source(members - 1), count);
    for (int member = members - 2; member >= 0; --member)
      op.apply(source(member), into, count, type);
  }
};

}  // namespace hawser::collective
