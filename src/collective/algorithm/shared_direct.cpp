// The collectives that move data by members who read each other's memory.
#include "collective/algorithm/reading.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/executor/local_step.hpp"

namespace hawser::collective {

Result<void> direct_bcast(Team& team, const BcastArguments& a) {
  const Count bytes = bytes_of(a.buffer);
  if (team.rank() == a.root) {
    const OnePiece piece(to_const(a.buffer));
    Reading reading(team, piece.data(), bytes);
    return reading.end() ? reading.take_result() : shared_bcast(team, a);
  }
  Reading reading(team, nullptr, bytes);
  reading.read(a.root, 0, a.buffer);
  return reading.end() ? reading.take_result() : shared_bcast(team, a);
}

Result<void> direct_allgather(Team& team, const AllgatherArguments& a) {
  const int me = team.rank(), n = team.size();
  const auto block = [&](int member) {
    return part(a.receive, member * a.receive.count, a.receive.count);
  };
  const OnePiece piece(a.in_place ? to_const(block(me)) : a.send);
  Reading reading(team, piece.data(), bytes_of(a.receive));
  Result<void> copied;
  if (!a.in_place) copied = copy_items(a.send, block(me));
  for (int step = 1; step < n; ++step) {
    const int member = (me + step) % n;
    reading.read(member, 0, block(member));
  }
  if (!reading.end()) return shared_allgather(team, a);
  if (!copied.ok()) return copied;
  return reading.take_result();
}

Result<void> direct_alltoall(Team& team, const AlltoallArguments& a) {
  const int me = team.rank(), n = team.size();
  const Count block = bytes_of(a.receive);
  const ConstBuffer send = a.in_place ? to_const(a.receive) : a.send;
  const ConstBuffer blocks{send.data, send.count * n, send.type};
  OnePiece piece(blocks);
  if (a.in_place) piece.set_apart(blocks);
  Reading reading(team, piece.data(), block);
  for (int step = 0; step < n; ++step) {
    const int member = (me + step) % n;
    const Buffer to = part(a.receive, member * a.receive.count, a.receive.count);
    if (member == me) {
      p2p::unpack(to, 0, piece.data() + me * block, block);
    } else {
      reading.read(member, me * block, to);
    }
  }
  if (reading.end()) return reading.take_result();
  return shared_alltoall(team,
                         {.send = const_byte_buffer(piece.data(), block), .receive = a.receive});
}

}  // namespace hawser::collective
