// The collectives of a team whose members read each other's memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/algorithm/buffers.hpp"
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

/// Combines run by run, so that what was read is still in the cache when it is combined.
Result<void> direct_reduce_scatter(Team& team, const ReduceScatterArguments& a) {
  constexpr Count run_bytes = 128 << 10;
  const int me = team.rank(), n = team.size();
  const Count size = a.type->size(), mine = a.counts[me];
  const Count begin = begins_of(a, n)[size_of(me)];
  const Count run = std::max<Count>(1, run_bytes / size);
  const auto* const data = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  std::vector<std::byte> aside(a.in_place ? size_of(mine * size) : 0);
  auto* const result = a.in_place ? aside.data() : static_cast<std::byte*>(a.receive);
  std::vector<std::byte> arrived(size_of(std::min(run, mine) * size));
  Reading reading(team, data);
  for (Count first = 0; first < mine; first += run) {
    const Count count = std::min(run, mine - first), place = (begin + first) * size;
    std::byte* const into = result + first * size;
    if (me == n - 1) {
      base::copy_bytes(into, data + place, size_of(count * size));
    } else {
      reading.read(n - 1, place, into, count * size);
    }
    for (int member = n - 2; member >= 0; --member) {
      if (member != me) reading.read(member, place, arrived.data(), count * size);
      a.op->apply(member == me ? data + place : arrived.data(), into, count, *a.type);
    }
  }
  if (!reading.end()) return shared_reduce_scatter(team, a);
  if (a.in_place) base::copy_bytes(static_cast<std::byte*>(a.receive), result, aside.size());
  return {};
}

}  // namespace hawser::collective
