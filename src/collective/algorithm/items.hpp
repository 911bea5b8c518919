// What the reductions of teams share: items of a contiguous type.
#pragma once

#include <algorithm>
#include <cstdint>

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
  /// applied()(in, inout, items): inout = in op inout.
  [[nodiscard]] auto applied() const {
    return [this, quick = op.kernel_for(type)](const std::byte* in, std::byte* inout, Count items) {
      quick != nullptr ? quick(in, inout, items) : op.apply(in, inout, items, type);
    };
  }
  /// Which items come first: the last ones, where those have just been copied here and are in the
  /// nearest cache.
  enum class Order : std::uint8_t { first_to_last, last_to_first };
  /// into = source(0) op source(1) op … op source(MEMBERS - 1), where INTO is none of them,
  /// or the last one.
  template <class Source>
  void combine(Source source, int members, std::byte* into, Count count,
               Order order = Order::first_to_last) const {
    const auto apply = applied();
    in_runs(count, order, [&](Count begin, Count items) {
      if (into != source(members - 1)) copy(into + begin, source(members - 1) + begin, items);
      for (int member = members - 2; member >= 0; --member)
        apply(source(member) + begin, into + begin, items);
    });
  }
  /// into = MINE op SHOWN, or the other way round if this member's are not FIRST. SHOWN may be
  /// written, and if they are FIRST has the same in the end; INTO may be MINE.
  void combine_two(const std::byte* mine, bool first, std::byte* shown, std::byte* into,
                   Count count) const {
    const auto apply = applied();
    in_runs(count, Order::first_to_last, [&](Count begin, Count items) {
      if (first) {
        apply(mine + begin, shown + begin, items);
        copy(into + begin, shown + begin, items);
      } else {
        if (into != mine) copy(into + begin, mine + begin, items);
        apply(shown + begin, into + begin, items);
      }
    });
  }
  /// PART(begin, items) for COUNT items run by run, so that what is made stays in the cache until
  /// it is done; BEGIN in bytes.
  template <class Part>
  void in_runs(Count count, Order order, Part part) const {
    constexpr Count run_bytes = 8192;
    const Count run = std::max<Count>(1, run_bytes / std::max<Count>(1, type.size()));
    const Count runs = (count + run - 1) / run;
    for (Count done = 0; done < runs; ++done) {
      const Count first = run * (order == Order::first_to_last ? done : runs - 1 - done);
      part(bytes(first), std::min(run, count - first));
    }
  }
};

}  // namespace hawser::collective
