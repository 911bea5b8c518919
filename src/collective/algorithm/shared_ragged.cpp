#include "collective/algorithm/shared_ragged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/cache_line.hpp"
#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/exchange.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/algorithm/showing.hpp"

namespace hawser::collective {
namespace {

/// A block for each of COUNT members, side by side in one's place, each with its length before it;
/// every slot is as long as the longest:
///
///   +--------+-----+------+-----+--------+-----+------+-----+
///   | length | gap | data | gap | length | gap | data | gap | …
///   +--------+-----+------+-----+--------+-----+------+-----+
///
/// A length is that of all of the block that is not shown yet: what does not fit comes in a later
/// step. Long data begin with a cache line.
class Slots {
 public:
  /// The longest that fit into a place of ROOM bytes.
  static Slots longest_in(std::size_t room, int count) {
    const Count each = share_of(room, count);
    return {each - each % (each < lined_bytes_min ? word_bytes : line_bytes), count};
  }
  /// For blocks of at most DATA bytes.
  static Slots for_data(Count data, int count) {
    if (data == 0) return {0, count};
    const Count bytes = rounded(word_bytes + data, word_bytes);
    return {bytes < lined_bytes_min ? bytes : rounded(line_bytes + data, line_bytes), count};
  }
  /// What a member shows that SHOWS so many bytes.
  static Slots shown(std::size_t bytes, int count) {
    return {static_cast<Count>(bytes) / count, count};
  }

  /// Of one slot, with what stands before the data.
  [[nodiscard]] Count bytes() const { return bytes_; }
  [[nodiscard]] Count data_bytes() const { return std::max<Count>(bytes_ - lead(), 0); }
  [[nodiscard]] std::size_t whole_bytes() const { return size_of(bytes_ * count_); }

  /// MEMBER's slot in PLACE says that LEFT bytes are left; where its data goes.
  std::byte* begin(std::byte* place, int member, Count left) const {
    std::byte* const slot = place + bytes_ * member;
    if (bytes_ > 0) std::memcpy(slot, &left, sizeof(left));
    return slot + lead();
  }
  /// What it says.
  [[nodiscard]] Count left(const std::byte* place, int member) const {
    Count left = 0;
    if (bytes_ >= word_bytes) std::memcpy(&left, place + bytes_ * member, sizeof(left));
    return left;
  }
  [[nodiscard]] const std::byte* data(const std::byte* place, int member) const {
    return place + bytes_ * member + lead();
  }

 private:
  static constexpr Count word_bytes = sizeof(Count);
  static constexpr Count line_bytes = base::cache_line_bytes;
  static constexpr Count lined_bytes_min = 1024;

  Slots(Count bytes, int count) : bytes_(bytes), count_(count) {}
  static Count rounded(Count bytes, Count unit) { return (bytes + unit - 1) / unit * unit; }
  [[nodiscard]] Count lead() const { return bytes_ < lined_bytes_min ? word_bytes : line_bytes; }

  Count bytes_;
  int count_;
};

Error wrong_block(int member, Count sent, Count expected) {
  return {ErrorClass::truncate,
          fmt::format("rank {} sends a block of {} bytes where this process expects {}; both must "
                      "give the same count and type",
                      member, sent, expected)};
}

/// The part that MEMBER shows of its block for this one, behind the EARLIER bytes of it, goes to
/// BUFFER. MOST: the longest slots that there can be. What is wrong goes to RESULT, unless
/// something was before.
void take(Team& team, int member, const Slots& most, const Buffer& buffer, Count earlier,
          Result<void>& result) {
  const std::size_t shown = team.bytes_of(member);
  const Count left = std::max<Count>(bytes_of(buffer) - earlier, 0);
  const bool is_possible = shown <= most.whole_bytes();
  const Slots slots = Slots::shown(is_possible ? shown : 0, team.size());
  const std::byte* const place = team.shown_by(member, slots.whole_bytes());
  const Count sent = slots.left(place, team.rank());
  if (sent != left || !is_possible) [[unlikely]] {
    if (result.ok()) result = wrong_block(member, earlier + sent, earlier + left);
    return;
  }
  p2p::unpack(buffer, earlier, slots.data(place, team.rank()), std::min(left, slots.data_bytes()));
}

/// Step after step, until nobody has more to show.
template <class Arguments>
void exchange_on_board(Team& team, DirectExecutor& ex, const Arguments& a) {
  const int n = team.size(), me = team.rank();
  const Exchange exchange = prepare_exchange(ex, a);
  Result<void> result;
  Count done = 0;
  team.begin_row(Flow::all_ways);
  for (bool is_over = false; !is_over && !team.has_left();) {
    const Slots most = Slots::longest_in(team.room(), n);
    const auto left_for = [&](int member) {
      return std::max<Count>(bytes_of(exchange.out[size_of(member)]) - done, 0);
    };
    Count longest = 0;
    for (int member = 0; member < n; ++member)
      if (member != me) longest = std::max(longest, left_for(member));
    const Slots slots = longest < most.data_bytes() ? Slots::for_data(longest, n) : most;
    std::byte* const place = team.begin(slots.whole_bytes());
    for (int member = 0; member < n; ++member) {
      if (member == me) continue;
      const Count left = left_for(member);
      show_to(team, member, exchange.out[size_of(member)], done, slots.begin(place, member, left),
              std::min(left, slots.data_bytes()));
    }
    team.arrive();
    team.await_all();
    is_over = slots.bytes() != most.bytes();
    for (int member = 0; member < n; ++member) {
      if (member == me) continue;
      is_over = is_over && team.bytes_of(member) != most.whole_bytes();
      take(team, member, most, exchange.in[size_of(member)], done, result);
    }
    done += most.data_bytes();
    if (!is_over) team.want_room();
  }
  if (!result.ok()) ex.fail(result.take_error());
}

/// What a root and a member show each other of a block of BYTES, where MOST can be shown. Longer
/// ones go as a message.
Count shown_of(Count bytes, Count most) { return bytes > most ? 0 : bytes; }

/// At the root: the longest that is shown of the others' blocks; BY_MESSAGE(block, member) for each
/// that is not.
template <class BlockOf, class ByMessage>
Count longest_shown(const Team& team, Count most, const BlockOf& block,
                    const ByMessage& by_message) {
  Count longest = 0;
  for (int member = 0; member < team.size(); ++member) {
    if (member == team.rank()) continue;
    const Count bytes = bytes_of(block(member)), shown = shown_of(bytes, most);
    longest = std::max(longest, shown);
    if (shown < bytes) by_message(block(member), member);
  }
  return longest;
}

}  // namespace

void shared_gatherv(Team& team, DirectExecutor ex, const GathervArguments& a) {
  team.begin_row(Flow::one_way);
  const auto most = static_cast<Count>(team.room());
  if (team.rank() != a.root) {
    const Count shown = shown_of(bytes_of(a.send), most);
    if (shown < bytes_of(a.send)) ex.send(a.send, a.root);
    show_to(team, a.root, a.send, 0, team.begin(size_of(shown)), shown);
    team.tell(a.root);
    team.make_known();
    return ex.wait();
  }
  const auto block = [&](int member) {
    return part(a.receive, a.displacements[member], a.counts[member]);
  };
  const Count longest =
      longest_shown(team, most, block, [&](const Buffer& to, int member) { ex.recv(to, member); });
  if (!a.in_place) ex.copy(a.send, block(a.root));
  team.begin(0);
  team.collect(size_of(longest));
  Result<void> result;
  for (int member = 0; member < team.size(); ++member) {
    if (member == a.root) continue;
    const Count shown = shown_of(bytes_of(block(member)), most);
    team.expect(member, size_of(shown), result);
    p2p::unpack(block(member), 0, team.shown_by(member, size_of(shown)), shown);
  }
  if (!result.ok()) ex.fail(result.take_error());
  ex.wait();
}

void shared_scatterv(Team& team, DirectExecutor ex, const ScattervArguments& a) {
  const int n = team.size();
  team.begin_row(Flow::one_way);
  const Slots most = Slots::longest_in(team.room(), n);
  if (team.rank() != a.root) {
    const Count bytes = bytes_of(a.receive), shown = shown_of(bytes, most.data_bytes());
    if (shown < bytes) ex.recv(a.receive, a.root);
    team.listen_to(a.root, 0);
    Result<void> result;
    take(team, a.root, most, {a.receive.data, shown < bytes ? 0 : a.receive.count, a.receive.type},
         0, result);
    if (!result.ok()) ex.fail(result.take_error());
    return ex.wait();
  }
  const auto block = [&](int member) {
    return part(a.send, a.displacements[member], a.counts[member]);
  };
  const Count longest =
      longest_shown(team, most.data_bytes(), block,
                    [&](const ConstBuffer& from, int member) { ex.send(from, member); });
  const Slots slots = Slots::for_data(longest, n);
  std::byte* const place = team.begin(slots.whole_bytes());
  for (int member = 0; member < n; ++member) {
    if (member == a.root) continue;
    const Count shown = shown_of(bytes_of(block(member)), most.data_bytes());
    show_to(team, member, block(member), 0, slots.begin(place, member, shown), shown);
  }
  team.show();
  if (!a.in_place) ex.copy(block(a.root), a.receive);
  ex.wait();
}

void shared_alltoallv(Team& team, DirectExecutor ex, const AlltoallvArguments& a) {
  exchange_on_board(team, ex, a);
}
void shared_alltoallw(Team& team, DirectExecutor ex, const AlltoallwArguments& a) {
  exchange_on_board(team, ex, a);
}

}  // namespace hawser::collective
