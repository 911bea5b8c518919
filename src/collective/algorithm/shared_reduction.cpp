// The collectives of a team that reduce.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/copy.hpp"
#include "collective/algorithm/reduce_scatter.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {
namespace {

/// Items of a contiguous type.
struct Items {
  Datatype& type;
  Op& op;
  [[nodiscard]] Count bytes(Count count) const { return count * type.size(); }
  void copy(void* to, const void* from, Count count) const {
    base::copy_bytes(static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
                     size_of(bytes(count)));
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

/// COUNT items, as many at a time as a member can show BLOCKS times.
class ItemRounds {
 public:
  ItemRounds(const Team& team, const Items& items, Count count, int blocks = 1)
      : items_(items),
        count_(count),
        most_(static_cast<Count>(team.room()) / (items.type.size() * blocks)) {}
  [[nodiscard]] bool are_over() const { return first_ >= count_; }
  [[nodiscard]] Count first() const { return first_; }
  [[nodiscard]] Count count() const { return std::min(most_, count_ - first_); }
  [[nodiscard]] std::byte* at(void* buffer) const {
    return static_cast<std::byte*>(buffer) + items_.bytes(first_);
  }
  [[nodiscard]] const std::byte* at(const void* buffer) const {
    return static_cast<const std::byte*>(buffer) + items_.bytes(first_);
  }
  void next() { first_ += most_; }

 private:
  const Items& items_;
  Count count_;
  Count most_;
  Count first_ = 0;
};

/// The share of a round's items that one member combines for all: whole cache lines, where items
/// are shorter than those.
struct Share {
  Count first;
  Count count;

  Share(int member, int members, Count items, Count item_bytes) {
    constexpr Count line_bytes = 64;
    const Count line = std::max<Count>(1, line_bytes / item_bytes);
    const Count each = ((items + members - 1) / members + line - 1) / line * line;
    first = std::min(member * each, items);
    count = std::min(each, items - first);
  }
};

/// Up to this length of a round's data, one step in which whoever needs the result combines all of
/// it is quicker than two steps in which each member combines its share.
constexpr Count together_bytes_max = 4096;

/// One step: every member, or the last, combines everything. RECEIVE may be MINE.
void allreduce_together(Team& team, const Items& items, const std::byte* mine, std::byte* receive,
                        Count count) {
  const std::size_t bytes = size_of(items.bytes(count));
  const auto shown = [&](int member) { return team.shown_by(member, bytes); };
  items.copy(team.begin(bytes), mine, count);
  if (!team.has_last()) {
    team.arrive();
    team.await_all();
    items.combine(shown, team.size(), receive, count);
    return;
  }
  if (team.arrive_perhaps_last()) {
    items.combine(shown, team.size(), team.result(bytes), count);
    team.show_result();
  } else {
    team.await_result();
  }
  items.copy(receive, team.result(bytes), count);
}

/// Shows what others combine of MINE, and writes this member's share of the result, which is ready
/// at the place that this returns once all have arrived at the step that it ends with.
const std::byte* combine_shares(Team& team, const Items& items, const std::byte* mine,
                                Count count) {
  const std::size_t bytes = size_of(items.bytes(count));
  const Share share(team.rank(), team.size(), count, items.type.size());
  const Count begin = items.bytes(share.first);
  const Count end = items.bytes(share.first + share.count);
  std::byte* const place = team.begin(bytes);
  std::memcpy(place, mine, size_of(begin));
  std::memcpy(place + end, mine + end, bytes - size_of(end));
  team.arrive();
  team.await_all();
  std::byte* const result = team.result(bytes);
  items.combine(
      [&](int member) {
        return member == team.rank() ? mine + begin : team.shown_by(member, bytes) + begin;
      },
      team.size(), result + begin, share.count);
  team.begin(0);
  team.arrive();
  return result;
}

}  // namespace

Result<void> shared_allreduce(Team& team, const AllreduceArguments& a) {
  const Items items{*a.type, *a.op};
  for (ItemRounds round(team, items, a.count); !round.are_over(); round.next()) {
    const std::byte* mine = round.at(a.in_place ? a.receive : a.send);
    if (items.bytes(round.count()) <= together_bytes_max) {
      allreduce_together(team, items, mine, round.at(a.receive), round.count());
      continue;
    }
    const std::byte* result = combine_shares(team, items, mine, round.count());
    team.await_all();
    items.copy(round.at(a.receive), result, round.count());
  }
  return {};
}

Result<void> shared_reduce(Team& team, const ReduceArguments& a) {
  const Items items{*a.type, *a.op};
  const bool is_root = team.rank() == a.root;
  for (ItemRounds round(team, items, a.count); !round.are_over(); round.next()) {
    const std::byte* mine = round.at(is_root && a.in_place ? a.receive : a.send);
    const std::size_t bytes = size_of(items.bytes(round.count()));
    if (bytes <= together_bytes_max) {
      items.copy(team.begin(bytes), mine, round.count());
      team.arrive();
      if (!is_root) continue;
      team.await_all();
      items.combine([&](int member) { return team.shown_by(member, bytes); }, team.size(),
                    round.at(a.receive), round.count());
    } else {
      const std::byte* result = combine_shares(team, items, mine, round.count());
      if (!is_root) continue;
      team.await_all();
      items.copy(round.at(a.receive), result, round.count());
    }
  }
  return {};
}

/// Each round takes the next items of every block, as long as it has any.
Result<void> shared_reduce_scatter(Team& team, const ReduceScatterArguments& a) {
  const Items items{*a.type, *a.op};
  const std::vector<Count> begins = begins_of(a, team.size());
  Count longest = 0;
  for (int member = 0; member < team.size(); ++member)
    longest = std::max(longest, a.counts[member]);
  const auto* const mine = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  const int me = team.rank();
  // In place the result would overwrite what is still to be shown.
  std::vector<std::byte> aside(a.in_place ? size_of(items.bytes(a.counts[me])) : 0);
  void* const receive = a.in_place ? aside.data() : a.receive;
  for (ItemRounds round(team, items, longest, team.size()); !round.are_over(); round.next()) {
    const auto left = [&](int member) {
      return std::clamp<Count>(a.counts[member] - round.first(), 0, round.count());
    };
    const auto block = [&](int member) {
      return mine + items.bytes(begins[size_of(member)] + round.first());
    };
    const std::size_t bytes = size_of(items.bytes(round.count()) * team.size());
    std::byte* place = team.begin(bytes);
    for (int member = 0; member < team.size(); ++member, place += items.bytes(round.count()))
      if (member != me) items.copy(place, block(member), left(member));
    team.arrive();
    team.await_all();
    items.combine(
        [&](int member) {
          return member == me ? block(me)
                              : team.shown_by(member, bytes) + items.bytes(round.count()) * me;
        },
        team.size(), round.at(receive), left(me));
  }
  if (a.in_place) items.copy(a.receive, aside.data(), a.counts[me]);
  return {};
}

namespace {

/// Each member gets the items of the first MEMBERS ones combined.
template <class Arguments>
Result<void> scan_first(Team& team, const Arguments& a, int members) {
  const Items items{*a.type, *a.op};
  for (ItemRounds round(team, items, a.count); !round.are_over(); round.next()) {
    const std::size_t bytes = size_of(items.bytes(round.count()));
    items.copy(team.begin(bytes), round.at(a.in_place ? a.receive : a.send), round.count());
    team.arrive();
    team.await_all();
    if (members > 0)
      items.combine([&](int member) { return team.shown_by(member, bytes); }, members,
                    round.at(a.receive), round.count());
  }
  return {};
}

}  // namespace

Result<void> shared_scan(Team& team, const ScanArguments& a) {
  return scan_first(team, a, team.rank() + 1);
}

Result<void> shared_exscan(Team& team, const ExscanArguments& a) {
  return scan_first(team, a, team.rank());
}

}  // namespace hawser::collective
