// The collectives that move data by members who read each other's memory.
#include <optional>

#include "base/cache_line.hpp"
#include "collective/algorithm/reading.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/executor/local_step.hpp"

namespace hawser::collective {

namespace {

/// Each member copies one half: the root writes it into the other's memory. Member 0 has the front,
/// whoever the root is: so it stays in its caches.
Result<void> direct_bcast_of_two(Team& team, const BcastArguments& a) {
  const bool is_root = team.rank() == a.root;
  const int other = 1 - team.rank();
  const Count bytes = bytes_of(a.buffer);
  constexpr auto line_bytes = static_cast<Count>(base::cache_line_bytes);
  const Count front = bytes / 2 / line_bytes * line_bytes;
  const Count begin = team.rank() == 0 ? 0 : front, mine = team.rank() == 0 ? front : bytes - front;
  if (is_root) {
    const OnePiece piece(to_const(a.buffer));
    Reading reading(team, piece.data(), bytes);
    if (reading.may_write(other)) reading.write(other, begin, piece.data() + begin, mine);
    return reading.end() ? reading.take_result() : shared_bcast(team, a);
  }
  auto* const place = static_cast<std::byte*>(a.buffer.data);
  const bool is_written = is_contiguous(*a.buffer.type);
  Reading reading(team, is_written ? place : nullptr, bytes);
  if (is_written) {
    reading.read(other, begin, place + begin, mine);
  } else {
    reading.read(other, 0, a.buffer);
  }
  return reading.end() ? reading.take_result() : shared_bcast(team, a);
}

}  // namespace

Result<void> direct_bcast(Team& team, const BcastArguments& a) {
  if (team.size() == 2) return direct_bcast_of_two(team, a);
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
