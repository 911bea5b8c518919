// The collectives of a team that reduce.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/cache_line.hpp"
#include "base/copy.hpp"
#include "collective/algorithm/items.hpp"
#include "collective/algorithm/reduce_scatter.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {
namespace {

/// COUNT items, as many at a time as a member can show BLOCKS times.
class ItemRounds {
 public:
  ItemRounds(Team& team, const Items& items, Count count, Flow flow, int blocks = 1)
      : items_(items),
        count_(count),
        most_(share_of(team.room_for(size_of(items.bytes(count)) * size_of(blocks), flow), blocks) /
              items.type.size()) {}
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

/// The share of a round's COUNT items that MEMBER combines for all: whole cache lines, where items
/// are shorter than those.
struct Share {
  Count count;
  std::size_t begin, end;  // in bytes

  Share(const Team& team, int member, const Items& items, Count of) {
    constexpr Count line_bytes = base::cache_line_bytes;
    const Count line = std::max<Count>(1, line_bytes / items.type.size());
    const Count each = ((of + team.size() - 1) / team.size() + line - 1) / line * line;
    const Count first = std::min(member * each, of);
    count = std::min(each, of - first);
    begin = size_of(items.bytes(first));
    end = begin + size_of(items.bytes(count));
  }
  [[nodiscard]] std::size_t bytes() const { return end - begin; }
};

/// COPY(member, begin, bytes) for the shares of all other members.
template <class Copy>
void copy_other_shares(const Team& team, const Items& items, Count count, Copy&& copy) {
  for (int member = 0; member < team.size(); ++member) {
    if (member == team.rank()) continue;
    const Share share(team, member, items, count);
    copy(member, share.begin, share.bytes());
  }
}

/// Up to this length of a round's data, one step in which whoever needs the result combines all of
/// it is quicker than two steps in which each member combines its share.
constexpr Count together_bytes_max = 4096;

/// One step: every member, or the last, combines everything. RECEIVE may be MINE. RESULT: see
/// Team::expect(); here and below.
void allreduce_together(Team& team, const Items& items, const std::byte* mine, std::byte* receive,
                        Count count, Result<void>& result) {
  const std::size_t bytes = size_of(items.bytes(count));
  const auto shown = [&](int member) { return team.shown_by(member, bytes); };
  team.copy_in(team.begin(bytes), mine, bytes);
  if (!team.has_last()) {
    team.arrive();
    team.await_all();
    team.expect(team.next(), bytes, result);
    items.combine(shown, team.size(), receive, count);
    return;
  }
  if (team.arrive_perhaps_last()) {
    for (int member = 0; member < team.size(); ++member) team.expect(member, bytes, result);
    items.combine(shown, team.size(), team.result(bytes), count);
    team.show_result();
  } else {
    team.await_result();
  }
  items.copy(receive, team.result(bytes), count);
}

/// Shows what others combine of MINE, and writes SHARE, this member's, of the result, which is
/// ready at the place that this returns once all have arrived at the step that it ends with.
/// PRIVATELY: memory of COUNT items apart from MINE, where the share is made and stays; or null: it
/// is made where others read it.
const std::byte* combine_shares(Team& team, const Items& items, const std::byte* mine, Count count,
                                const Share& share, std::byte* privately, Result<void>& result) {
  const std::size_t bytes = size_of(items.bytes(count));
  std::byte* const place = team.begin(bytes);
  copy_other_shares(team, items, count, [&](int member, std::size_t begin, std::size_t length) {
    team.copy_to(member, place + begin, mine + begin, length);
  });
  team.arrive();
  team.await_all();
  team.expect(team.next(), bytes, result);
  std::byte* const combined = team.result(bytes);
  std::byte* const into = privately != nullptr ? privately : combined;
  items.combine(
      [&](int member) {
        return (member == team.rank() ? mine : team.shown_by(member, bytes)) + share.begin;
      },
      team.size(), into + share.begin, share.count);
  if (into != combined) team.copy_in(combined + share.begin, into + share.begin, share.bytes());
  team.begin(0);
  team.arrive();
  return combined;
}

/// Two members, one exchange: each combines everything. RECEIVE may be MINE.
void allreduce_in_one_exchange(Team& team, const Items& items, const std::byte* mine,
                               std::byte* receive, Count count, Result<void>& result) {
  const int me = team.rank(), other = 1 - me;
  const std::size_t bytes = size_of(items.bytes(count));
  team.copy_in(team.begin_exchange(bytes), mine, bytes);
  team.arrive();
  team.await_all();
  team.expect(other, bytes, result);
  items.combine_two(mine, me == 0, team.shown_by(other, bytes), receive, count);
}

/// Two members, two exchanges: each shows the other's share of MINE, and then its own of the
/// result, where it has just read the other's. RECEIVE may be MINE.
void allreduce_in_two_exchanges(Team& team, const Items& items, const std::byte* mine,
                                std::byte* receive, Count count, Result<void>& result) {
  const int me = team.rank(), other = 1 - me;
  const Share own(team, me, items, count), theirs(team, other, items, count);
  const std::size_t bytes = std::max(own.bytes(), theirs.bytes());
  team.copy_in(team.begin_exchange(bytes), mine + theirs.begin, theirs.bytes());
  team.arrive();
  team.await_all();
  team.expect(other, bytes, result);
  std::byte* const shown = team.shown_by(other, bytes);
  std::byte* const combined = receive + own.begin;
  items.combine_two(mine + own.begin, me == 0, shown, combined, own.count);
  std::byte* const place = team.begin_exchange(bytes);
  const bool is_there = place == shown && me == 0;
  if (!is_there) team.copy_in(place, combined, own.bytes());
  team.arrive();
  team.await_all();
  base::copy_bytes(receive + theirs.begin, team.shown_by(other, bytes), theirs.bytes());
}

}  // namespace

Result<void> shared_allreduce(Team& team, const AllreduceArguments& a) {
  const Items items{*a.type, *a.op};
  Result<void> result;
  for (ItemRounds round(team, items, a.count, Flow::exchange); !round.are_over(); round.next()) {
    const std::byte* mine = round.at(a.in_place ? a.receive : a.send);
    std::byte* const receive = round.at(a.receive);
    const std::size_t bytes = size_of(items.bytes(round.count()));
    if (bytes <= size_of(together_bytes_max)) {
      if (!team.has_last() && team.is_exchange(bytes)) {
        allreduce_in_one_exchange(team, items, mine, receive, round.count(), result);
      } else {
        allreduce_together(team, items, mine, receive, round.count(), result);
      }
      continue;
    }
    if (team.size() == 2) {
      allreduce_in_two_exchanges(team, items, mine, receive, round.count(), result);
      continue;
    }
    const Share own(team, team.rank(), items, round.count());
    const std::byte* combined = combine_shares(team, items, mine, round.count(), own,
                                               a.in_place ? nullptr : receive, result);
    team.await_all();
    if (a.in_place) {
      base::copy_bytes(receive, combined, bytes);
    } else {
      copy_other_shares(team, items, round.count(),
                        [&](int, std::size_t begin, std::size_t length) {
                          base::copy_bytes(receive + begin, combined + begin, length);
                        });
    }
  }
  return result;
}

Result<void> shared_reduce(Team& team, const ReduceArguments& a) {
  const Items items{*a.type, *a.op};
  Result<void> result;
  const bool is_root = team.rank() == a.root;
  // Up to this length the root alone combines: the others are soon done, and may run ahead.
  const Count by_root_max =
      team.size() == 2 ? std::numeric_limits<Count>::max() : together_bytes_max;
  const Flow flow = items.bytes(a.count) <= by_root_max ? Flow::one_way : Flow::all_ways;
  for (ItemRounds round(team, items, a.count, flow); !round.are_over(); round.next()) {
    const std::byte* mine = round.at(is_root && a.in_place ? a.receive : a.send);
    const std::size_t bytes = size_of(items.bytes(round.count()));
    if (bytes <= size_of(by_root_max)) {
      const bool shows = !is_root || a.in_place;
      std::byte* const place = team.begin(shows ? bytes : 0);
      if (shows) team.copy_in(place, mine, bytes);
      if (!is_root) {
        team.tell(a.root);
        continue;
      }
      team.collect(bytes);
      for (int member = 0; member < team.size(); ++member)
        if (member != a.root) team.expect(member, bytes, result);
      items.combine(
          [&](int member) {
            return member == a.root && !shows ? mine : team.shown_by(member, bytes);
          },
          team.size(), round.at(a.receive), round.count());
    } else {
      const Share own(team, team.rank(), items, round.count());
      const std::byte* combined =
          combine_shares(team, items, mine, round.count(), own, nullptr, result);
      if (!is_root) continue;
      team.await_all();
      base::copy_bytes(round.at(a.receive), combined, bytes);
    }
  }
  return result;
}

/// Each round takes the next items of every block, as long as it has any.
Result<void> shared_reduce_scatter(Team& team, const ReduceScatterArguments& a) {
  const Items items{*a.type, *a.op};
  Result<void> result;
  const std::vector<Count> begins = begins_of(a, team.size());
  Count longest = 0;
  for (int member = 0; member < team.size(); ++member)
    longest = std::max(longest, a.counts[member]);
  const auto* const mine = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  const int me = team.rank();
  // In place the result would overwrite what is still to be shown.
  std::vector<std::byte> aside(a.in_place ? size_of(items.bytes(a.counts[me])) : 0);
  void* const receive = a.in_place ? aside.data() : a.receive;
  const SideBySide blocks(team);
  for (ItemRounds round(team, items, longest, Flow::exchange, blocks.count()); !round.are_over();
       round.next()) {
    const auto left = [&](int member) {
      return std::clamp<Count>(a.counts[member] - round.first(), 0, round.count());
    };
    const auto block = [&](int member) {
      return mine + items.bytes(begins[size_of(member)] + round.first());
    };
    const Count length = items.bytes(round.count());
    const std::size_t bytes = size_of(length * blocks.count());
    std::byte* const place = team.begin_exchange(bytes);
    for (int member = 0; member < team.size(); ++member)
      if (member != me)
        team.copy_to(member, place + length * blocks.number_for(member), block(member),
                     size_of(items.bytes(left(member))));
    team.arrive();
    team.await_all();
    team.expect(team.next(), bytes, result);
    items.combine(
        [&](int member) {
          return member == me ? block(me)
                              : team.shown_by(member, bytes) + length * blocks.number_for(me);
        },
        team.size(), round.at(receive), left(me));
  }
  if (a.in_place) items.copy(a.receive, aside.data(), a.counts[me]);
  return result;
}

namespace {

/// Each member gets the items of the first MEMBERS ones combined, and waits for no later ones.
template <class Arguments>
Result<void> scan_first(Team& team, const Arguments& a, int members) {
  const Items items{*a.type, *a.op};
  Result<void> result;
  for (ItemRounds round(team, items, a.count, Flow::one_way); !round.are_over(); round.next()) {
    const std::size_t bytes = size_of(items.bytes(round.count()));
    team.copy_in(team.begin(bytes), round.at(a.in_place ? a.receive : a.send), bytes);
    team.show_forward(bytes);
    for (int member = 0; member < team.rank(); ++member) team.expect(member, bytes, result);
    if (members > 0)
      items.combine([&](int member) { return team.shown_by(member, bytes); }, members,
                    round.at(a.receive), round.count());
  }
  return result;
}

}  // namespace

Result<void> shared_scan(Team& team, const ScanArguments& a) {
  return scan_first(team, a, team.rank() + 1);
}

Result<void> shared_exscan(Team& team, const ExscanArguments& a) {
  return scan_first(team, a, team.rank());
}

}  // namespace hawser::collective
