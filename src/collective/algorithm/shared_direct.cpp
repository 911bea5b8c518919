// The collectives of a team whose members read each other's memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/algorithm/buffers.hpp"
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

}  // namespace hawser::collective
