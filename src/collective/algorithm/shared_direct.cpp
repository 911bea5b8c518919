// The collectives of a team whose members read each other's memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/items.hpp"
#include "collective/algorithm/reduce_scatter.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {
namespace {

/// From its making to end(), every member may read the memory that the others let it read.
class Reading {
 public:
  /// DATA: where what this member lets the others read begins. Waits for all.
  Reading(Team& team, const void* data) : team_(team) {
    std::memcpy(team_.begin(sizeof(data)), &data, sizeof(data));
    team_.arrive();
    team_.await_all();
  }
  /// BYTES at OFFSET of what MEMBER lets us read.
  void read(int member, Count offset, std::byte* to, Count bytes) {
    std::uint64_t data = 0;
    std::memcpy(&data, team_.shown_by(member, sizeof(data)), sizeof(data));
    was_refused_ |=
        !team_.read(member, data + static_cast<std::uint64_t>(offset), to, size_of(bytes));
  }
  /// Waits until all are done. False if a host refused one of them, which then do not read again.
  bool end() {
    if (team_.do_all_say(!was_refused_)) [[likely]]
      return true;
    team_.stop_reading();
    return false;
  }

 private:
  Team& team_;
  bool was_refused_ = false;
};

}  // namespace

Result<void> direct_alltoall(Team& team, const AlltoallArguments& a) {
  const int me = team.rank(), n = team.size();
  const Count block = bytes_of(a.receive);
  // What others read must lie in one piece, and stay as it is until they have read it.
  const ConstBuffer send = a.in_place ? to_const(a.receive) : a.send;
  std::vector<std::byte> packed;
  const auto* data = static_cast<const std::byte*>(send.data);
  if (a.in_place || !is_contiguous(*send.type)) {
    packed.resize(size_of(block) * size_of(n));
    p2p::pack({send.data, send.count * n, send.type}, 0, packed.data(), block * n);
    data = packed.data();
  }
  Reading reading(team, data);
  std::vector<std::byte> arrived;
  if (!is_contiguous(*a.receive.type)) arrived.resize(size_of(block));
  for (int step = 0; step < n; ++step) {
    const int member = (me + step) % n;
    const Buffer to = part(a.receive, member * a.receive.count, a.receive.count);
    if (member == me) {
      p2p::unpack(to, 0, data + me * block, block);
    } else if (arrived.empty()) {
      reading.read(member, me * block, static_cast<std::byte*>(to.data), block);
    } else {
      reading.read(member, me * block, arrived.data(), block);
      p2p::unpack(to, 0, arrived.data(), block);
    }
  }
  if (reading.end()) return {};
  return shared_alltoall(team, {.send = const_byte_buffer(data, block), .receive = a.receive});
}

namespace {

/// INTO = the COUNT items from FIRST on of all members combined; MINE are this member's, INTO is
/// none of them. Run by run, so that what was read is still in the cache when it is combined.
void combine_all(Team& team, Reading& reading, const Items& items, const std::byte* mine,
                 Count first, Count count, std::byte* into) {
  constexpr Count run_bytes = 128 << 10;
  const Count run = std::max<Count>(1, run_bytes / items.type.size());
  std::vector<std::byte> arrived(size_of(items.bytes(std::min(run, count))));
  for (Count done = 0; done < count; done += run) {
    const Count now = std::min(run, count - done);
    const Count place = items.bytes(first + done);
    items.combine(
        [&](int member) {
          if (member == team.rank()) return mine + place;
          reading.read(member, place, arrived.data(), items.bytes(now));
          return static_cast<const std::byte*>(arrived.data());
        },
        team.size(), into + items.bytes(done), now);
  }
}

}  // namespace

Result<void> direct_reduce_scatter(Team& team, const ReduceScatterArguments& a) {
  const Items items{*a.type, *a.op};
  const Count mine = a.counts[team.rank()];
  const Count first = begins_of(a, team.size())[size_of(team.rank())];
  const auto* const data = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  std::vector<std::byte> aside(a.in_place ? size_of(items.bytes(mine)) : 0);
  Reading reading(team, data);
  combine_all(team, reading, items, data, first, mine,
              a.in_place ? aside.data() : static_cast<std::byte*>(a.receive));
  if (!reading.end()) return shared_reduce_scatter(team, a);
  if (a.in_place) items.copy(a.receive, aside.data(), mine);
  return {};
}

}  // namespace hawser::collective
