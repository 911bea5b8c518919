// The collectives of a team that move data.
#include <algorithm>

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/algorithm/showing.hpp"
#include "collective/executor/local_step.hpp"

namespace hawser::collective {
namespace {

/// What one member shows of blocks of BYTES, COUNT of them at a time, step after step.
class Rounds {
 public:
  Rounds(Team& team, Count bytes, int count, Flow flow)
      : bytes_(bytes),
        most_(share_of(team.room_for(size_of(bytes) * size_of(count), flow), count)) {}
  [[nodiscard]] bool are_over() const { return offset_ >= bytes_; }
  /// Where the round's part of each block begins, and its length.
  [[nodiscard]] Count offset() const { return offset_; }
  [[nodiscard]] Count length() const { return std::min(most_, bytes_ - offset_); }
  void next() { offset_ += most_; }

 private:
  Count bytes_;
  Count most_;
  Count offset_ = 0;
};

}  // namespace

Result<void> shared_barrier(Team& team, const BarrierArguments&) {
  team.begin(0);
  team.arrive();
  team.await_all();
  return {};
}

Result<void> shared_bcast(Team& team, const BcastArguments& a) {
  const bool is_root = team.rank() == a.root;
  Result<void> result;
  for (Rounds round(team, bytes_of(a.buffer), 1, Flow::one_way); !round.are_over(); round.next()) {
    const Count length = round.length();
    if (is_root) {
      show(team, to_const(a.buffer), round.offset(), team.begin(size_of(length)), length);
      team.show();
      continue;
    }
    team.listen_to(a.root, size_of(length));
    team.expect(a.root, size_of(length), result);
    p2p::unpack(a.buffer, round.offset(), team.shown_by(a.root, size_of(length)), length);
  }
  return result;
}

Result<void> shared_gather(Team& team, const GatherArguments& a) {
  const bool is_root = team.rank() == a.root;
  const Count bytes = is_root ? bytes_of(a.receive) : bytes_of(a.send);
  Result<void> result;
  if (is_root && !a.in_place)
    result = copy_items(a.send, part(a.receive, a.root * a.receive.count, a.receive.count));
  for (Rounds round(team, bytes, 1, Flow::one_way); !round.are_over(); round.next()) {
    const Count length = round.length();
    if (!is_root) {
      show_to(team, a.root, a.send, round.offset(), team.begin(size_of(length)), length);
      team.tell(a.root);
      continue;
    }
    team.begin(0);
    team.collect(size_of(length));
    for (int member = 0; member < team.size(); ++member) {
      if (member == a.root) continue;
      team.expect(member, size_of(length), result);
      p2p::unpack(part(a.receive, member * a.receive.count, a.receive.count), round.offset(),
                  team.shown_by(member, size_of(length)), length);
    }
  }
  return result;
}

Result<void> shared_scatter(Team& team, const ScatterArguments& a) {
  const bool is_root = team.rank() == a.root;
  const Count bytes = is_root ? bytes_of(a.send) : bytes_of(a.receive);
  Result<void> result;
  if (is_root && !a.in_place)
    result = copy_items(part(a.send, a.root * a.send.count, a.send.count), a.receive);
  for (Rounds round(team, bytes, team.size(), Flow::one_way); !round.are_over(); round.next()) {
    const Count length = round.length();
    const std::size_t shown = size_of(length) * size_of(team.size());
    if (is_root) {
      std::byte* place = team.begin(shown);
      for (int member = 0; member < team.size(); ++member, place += length)
        if (member != a.root)
          show_to(team, member, part(a.send, member * a.send.count, a.send.count), round.offset(),
                  place, length);
      team.show();
    } else {
      team.listen_to(a.root, shown);
      team.expect(a.root, shown, result);
      p2p::unpack(a.receive, round.offset(), team.shown_by(a.root, shown) + length * team.rank(),
                  length);
    }
  }
  return result;
}

namespace {

/// Every member gets the blocks of all others. BLOCK(member): where that one's goes, of at most
/// LONGEST bytes; each round takes the next bytes of every block, as long as it has any.
template <class BlockOf>
Result<void> gather_to_all(Team& team, const ConstBuffer& send, bool in_place, Count longest,
                           const BlockOf& block) {
  const int me = team.rank();
  const Buffer mine = block(me);
  // First what others wait for, and this member's own copy while it waits for them. Longer data
  // would leave the nearest caches meanwhile, where others are about to look for it.
  constexpr Count copied_later_bytes_max = 32 << 10;
  const bool copies_later =
      !in_place && bytes_of(send) == bytes_of(mine) && bytes_of(send) <= copied_later_bytes_max;
  Result<void> result;
  if (!in_place && !copies_later) result = copy_items(send, mine);
  const ConstBuffer shown = copies_later ? send : to_const(mine);
  for (Rounds round(team, longest, 1, Flow::exchange); !round.are_over(); round.next()) {
    const auto length_of = [&](const Buffer& one) {
      return std::clamp<Count>(bytes_of(one) - round.offset(), 0, round.length());
    };
    const std::size_t step_bytes = size_of(round.length());
    show(team, shown, round.offset(), team.begin_exchange(step_bytes), length_of(mine));
    team.arrive();
    if (copies_later && round.offset() == 0) result = copy_items(send, mine);
    team.await_all();
    team.expect(team.next(), step_bytes, result);
    for (int member = 0; member < team.size(); ++member) {
      if (member == me) continue;
      const Buffer to = block(member);
      p2p::unpack(to, round.offset(), team.shown_by(member, step_bytes), length_of(to));
    }
  }
  return result;
}

}  // namespace

Result<void> shared_allgather(Team& team, const AllgatherArguments& a) {
  const auto block = [&](int member) {
    return part(a.receive, member * a.receive.count, a.receive.count);
  };
  return gather_to_all(team, a.send, a.in_place, bytes_of(a.receive), block);
}

Result<void> shared_allgatherv(Team& team, const AllgathervArguments& a) {
  const auto block = [&](int member) {
    return part(a.receive, a.displacements[member], a.counts[member]);
  };
  Count longest = 0;
  for (int member = 0; member < team.size(); ++member)
    longest = std::max(longest, bytes_of(block(member)));
  return gather_to_all(team, a.send, a.in_place, longest, block);
}

Result<void> shared_alltoall(Team& team, const AlltoallArguments& a) {
  const ConstBuffer send = a.in_place ? to_const(a.receive) : a.send;
  const int me = team.rank();
  Result<void> result = a.in_place
                            ? Result<void>()
                            : copy_items(part(send, me * send.count, send.count),
                                         part(a.receive, me * a.receive.count, a.receive.count));
  const SideBySide blocks(team);
  for (Rounds round(team, bytes_of(a.receive), blocks.count(), Flow::exchange); !round.are_over();
       round.next()) {
    const Count length = round.length();
    const std::size_t shown = size_of(length) * size_of(blocks.count());
    std::byte* const place = team.begin_exchange(shown);
    for (int member = 0; member < team.size(); ++member)
      if (member != me)
        show_to(team, member, part(send, member * send.count, send.count), round.offset(),
                place + length * blocks.number_for(member), length);
    team.arrive();
    team.await_all();
    team.expect(team.next(), shown, result);
    for (int member = 0; member < team.size(); ++member)
      if (member != me)
        p2p::unpack(part(a.receive, member * a.receive.count, a.receive.count), round.offset(),
                    team.shown_by(member, shown) + length * blocks.number_for(me), length);
  }
  return result;
}

}  // namespace hawser::collective
