// The collectives of a team that reduce.
#include <algorithm>
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

/// Up to this length, of a call's data or of what two show in a round, one step in which whoever
/// needs the result combines all of it is quicker than two steps in which each member combines its
/// share.
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

/// Combines SHARE, this member's, of a round's COUNT items, which all have shown in the step
/// before: into the place of the present step's result. PRIVATELY: memory of COUNT items apart from
/// MINE, where the share is made and stays; or null: it is made where others read it.
void combine_share(Team& team, const Items& items, const std::byte* mine, Count count,
                   const Share& share, std::byte* privately) {
  const std::size_t bytes = size_of(items.bytes(count));
  std::byte* const combined = team.result(bytes);
  std::byte* const into = privately != nullptr ? privately : combined;
  items.combine(
      [&](int member) {
        return (member == team.rank() ? mine : team.shown_before_by(member, bytes)) + share.begin;
      },
      team.size(), into + share.begin, share.count);
  if (into != combined) team.copy_in(combined + share.begin, into + share.begin, share.bytes());
}

/// Each member combines its share of all items, round by round; TAKE(round, combined), unless it
/// is null, gets each round's result. While a member shows one round it combines the one before:
/// it waits for all once a round. MINE, PRIVATELY: of all rounds; see combine_share().
template <class Take>
void combine_by_shares(Team& team, const Items& items, Count count, const std::byte* mine,
                       std::byte* privately, Result<void>& result, const Take* take) {
  ItemRounds shown(team, items, count, Flow::all_ways);
  ItemRounds combined = shown, taken = shown;
  const auto bytes_of = [&](const ItemRounds& round) {
    return round.are_over() ? 0 : size_of(items.bytes(round.count()));
  };
  const auto take_next = [&] {
    if (take != nullptr) (*take)(taken, team.result(bytes_of(taken)));
    taken.next();
  };
  for (int step = 0; !combined.are_over(); ++step) {
    if (step > 0) {
      team.await_all();
      team.expect(team.next(), bytes_of(combined), result);
    }
    if (step > 1) take_next();
    std::byte* const place = team.begin(bytes_of(shown));
    if (!shown.are_over()) {
      copy_other_shares(team, items, shown.count(),
                        [&](int member, std::size_t begin, std::size_t length) {
                          team.copy_to(member, place + begin, shown.at(mine) + begin, length);
                        });
      shown.next();
    }
    if (step > 0) {
      combine_share(team, items, combined.at(mine), combined.count(),
                    Share(team, team.rank(), items, combined.count()),
                    privately != nullptr ? combined.at(privately) : nullptr);
      combined.next();
    }
    team.arrive();
  }
  if (take == nullptr) return;
  team.await_all();
  take_next();
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
  const auto* const send = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  if (team.size() > 2 && items.bytes(a.count) > together_bytes_max) {
    auto* const privately = a.in_place ? nullptr : static_cast<std::byte*>(a.receive);
    const auto take = [&](const ItemRounds& round, const std::byte* combined) {
      std::byte* const receive = round.at(a.receive);
      const auto copy = [&](int, std::size_t begin, std::size_t length) {
        base::copy_bytes(receive + begin, combined + begin, length);
      };
      if (a.in_place) {
        copy(team.rank(), 0, size_of(items.bytes(round.count())));
      } else {
        copy_other_shares(team, items, round.count(), copy);
      }
    };
    combine_by_shares(team, items, a.count, send, privately, result, &take);
    return result;
  }
  for (ItemRounds round(team, items, a.count, Flow::exchange); !round.are_over(); round.next()) {
    const std::byte* const mine = round.at(send);
    std::byte* const receive = round.at(a.receive);
    const std::size_t bytes = size_of(items.bytes(round.count()));
    if (bytes > size_of(together_bytes_max)) {
      allreduce_in_two_exchanges(team, items, mine, receive, round.count(), result);
    } else if (!team.has_last() && team.is_exchange(bytes)) {
      allreduce_in_one_exchange(team, items, mine, receive, round.count(), result);
    } else {
      allreduce_together(team, items, mine, receive, round.count(), result);
    }
  }
  return result;
}

namespace {

/// The root alone combines: the others are soon done, and may run ahead.
void reduce_by_root(Team& team, const Items& items, const ReduceArguments& a,
                    Result<void>& result) {
  const bool is_root = team.rank() == a.root;
  const bool shows = !is_root || a.in_place;
  for (ItemRounds round(team, items, a.count, Flow::one_way); !round.are_over(); round.next()) {
    const std::byte* const mine = round.at(is_root && a.in_place ? a.receive : a.send);
    const std::size_t bytes = size_of(items.bytes(round.count()));
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
  }
}

}  // namespace

Result<void> shared_reduce(Team& team, const ReduceArguments& a) {
  const Items items{*a.type, *a.op};
  Result<void> result;
  if (team.size() == 2 || items.bytes(a.count) <= together_bytes_max) {
    reduce_by_root(team, items, a, result);
    return result;
  }
  const bool is_root = team.rank() == a.root;
  const auto* const send =
      static_cast<const std::byte*>(is_root && a.in_place ? a.receive : a.send);
  const auto take = [&](const ItemRounds& round, const std::byte* combined) {
    items.copy(round.at(a.receive), combined, round.count());
  };
  combine_by_shares(team, items, a.count, send, nullptr, result, is_root ? &take : nullptr);
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
