// The collectives that move data by members who read each other's memory.
#include <optional>

#include "collective/algorithm/reading.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/executor/local_step.hpp"

namespace hawser::collective {

Result<void> direct_bcast(Team& team, const BcastArguments& a) {
  std::optional<OnePiece> shown;
  if (team.rank() == a.root) shown.emplace(to_const(a.buffer));
  Reading reading(team, shown ? shown->data() : nullptr, bytes_of(a.buffer));
  if (!shown) reading.read(a.root, 0, a.buffer);
  return reading.end() ? reading.take_result() : shared_bcast(team, a);
}

Result<void> direct_allgather(Team& team, const AllgatherArguments& a) {
  const int me = team.rank();
  const auto block = [&](int member) {
    return part(a.receive, member * a.receive.count, a.receive.count);
  };
  const OnePiece piece(a.in_place ? to_const(block(me)) : a.send);
  Reading reading(team, piece.data(), bytes_of(a.receive));
  Result<void> copied;
  if (!a.in_place) copied = copy_items(a.send, block(me));
  for_each_other(team, [&](int member) { reading.read(member, 0, block(member)); });
  if (!reading.end()) return shared_allgather(team, a);
  if (!copied.ok()) return copied;
  return reading.take_result();
}

Result<void> direct_alltoall(Team& team, const AlltoallArguments& a) {
  const int me = team.rank();
  const Count bytes = bytes_of(a.receive);
  const auto block = [&](int member) {
    return part(a.receive, member * a.receive.count, a.receive.count);
  };
  const ConstBuffer send = a.in_place ? to_const(a.receive) : a.send;
  const OnePiece piece({send.data, send.count * team.size(), send.type}, a.in_place);
  Reading reading(team, piece.data(), bytes);
  Result<void> copied;
  if (!a.in_place) copied = copy_items(part(send, me * send.count, send.count), block(me));
  for_each_other(team, [&](int member) { reading.read(member, me * bytes, block(member)); });
  if (!reading.end())
    return shared_alltoall(team,
                           {.send = const_byte_buffer(piece.data(), bytes), .receive = a.receive});
  if (!copied.ok()) return copied;
  return reading.take_result();
}

}  // namespace hawser::collective
