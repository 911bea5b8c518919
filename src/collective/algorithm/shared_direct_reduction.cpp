// The collectives that reduce by members who read each other's memory: who needs items of the
// result combines them out of the buffers of all.
#include <algorithm>
#include <memory>
#include <vector>

#include "collective/algorithm/items.hpp"
#include "collective/algorithm/reading.hpp"
#include "collective/algorithm/reduce_scatter.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {
namespace {

using Memory = std::unique_ptr<std::byte[]>;

/// Of items, which are aligned as well as a user's.
Memory memory_of(std::size_t bytes) { return std::make_unique_for_overwrite<std::byte[]>(bytes); }

/// Into INTO the COUNT items at OFFSET of all members, combined; MINE: this member's, from the
/// first one on. In pieces that stay in the cache until they are combined; if no memory is needed
/// beside INTO, in pieces that are longer than that: each call of the kernel takes 0.35 us.
void combine_out_of_all(Reading& reading, const Team& team, const Items& items,
                        const std::byte* mine, Count offset, Count count, std::byte* into) {
  constexpr Count cached_bytes = 256 << 10, piece_bytes_min = 16 << 10, piece_bytes_max = 1 << 20;
  const int me = team.rank(), n = team.size();
  // The last operand comes to where the result is made, the others here, but for this member's.
  const int places = me == n - 1 ? n - 1 : n - 2;
  const Count piece_bytes =
      places == 0 ? piece_bytes_max : std::max(piece_bytes_min, cached_bytes / n);
  const Count most =
      std::clamp<Count>(piece_bytes / items.type.size(), 1, std::max<Count>(count, 1));
  const Memory others = memory_of(size_of(items.bytes(most) * places));
  for (Count first = 0; first < count; first += most) {
    const Count some = std::min(most, count - first), begin = items.bytes(first);
    const auto place = [&](int member) {
      const int number = member > me ? member - 1 : member;
      return member == n - 1 ? into + begin : others.get() + items.bytes(most) * number;
    };
    for_each_other(team, [&](int member) {
      reading.read(member, offset + begin, place(member), items.bytes(some));
    });
    if (!reading.is_whole()) return;
    items.combine(
        [&](int member) -> const std::byte* {
          return member == me ? mine + offset + begin : place(member);
        },
        n, into + begin, some, Items::Order::last_to_first);
  }
}

}  // namespace

Result<void> direct_reduce(Team& team, const ReduceArguments& a) {
  const Items items{*a.type, *a.op};
  const Count bytes = items.bytes(a.count);
  if (team.rank() != a.root) {
    Reading reading(team, static_cast<const std::byte*>(a.send), bytes);
    return reading.end() ? reading.take_result() : shared_reduce(team, a);
  }
  const auto* const mine = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  const Memory aside = memory_of(a.in_place ? size_of(bytes) : 0);
  std::byte* const combined = a.in_place ? aside.get() : static_cast<std::byte*>(a.receive);
  Reading reading(team, nullptr, bytes);
  combine_out_of_all(reading, team, items, mine, 0, a.count, combined);
  if (!reading.end()) return shared_reduce(team, a);
  if (a.in_place) items.copy(a.receive, combined, a.count);
  return reading.take_result();
}

Result<void> direct_reduce_scatter(Team& team, const ReduceScatterArguments& a) {
  const Items items{*a.type, *a.op};
  const int me = team.rank();
  const std::vector<Count> begins = begins_of(a, team.size());
  const Count begin = items.bytes(begins[size_of(me)]), count = a.counts[me];
  const auto* const mine = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  const Memory aside = memory_of(a.in_place ? size_of(items.bytes(count)) : 0);
  std::byte* const combined = a.in_place ? aside.get() : static_cast<std::byte*>(a.receive);
  Reading reading(team, mine, items.bytes(begins.back()));
  combine_out_of_all(reading, team, items, mine, begin, count, combined);
  if (!reading.end()) return shared_reduce_scatter(team, a);
  if (a.in_place) items.copy(a.receive, combined, count);
  return reading.take_result();
}

}  // namespace hawser::collective
