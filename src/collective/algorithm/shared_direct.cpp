// The collectives of a team whose members read each other's memory.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/items.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/executor/local_step.hpp"

namespace hawser::collective {
namespace {

/// From its making to end(), every member may read the memory that the others let it read.
class Reading {
 public:
  /// DATA: where the BYTES begin that this member lets the others read; null: nobody reads them.
  /// BYTES are the same for all members. Waits for all.
  Reading(Team& team, const std::byte* data, Count bytes) : team_(team), bytes_(size_of(bytes)) {
    const Offer mine{reinterpret_cast<std::uint64_t>(data), bytes_};
    std::memcpy(team_.begin(sizeof(mine)), &mine, sizeof(mine));
    team_.arrive();
    team_.await_all();
  }
  /// BYTES at OFFSET of what MEMBER lets us read. Whoever gives another number of bytes is not
  /// read.
  void read(int member, Count offset, std::byte* to, Count bytes) {
    Offer from;
    std::memcpy(&from, team_.shown_by(member, sizeof(from)), sizeof(from));
    team_.expect(member, sizeof(from), result_);
    team_.expect_bytes(member, from.bytes, bytes_, result_);
    if (!result_.ok() || was_refused_) return;
    was_refused_ =
        !team_.read(member, from.data + static_cast<std::uint64_t>(offset), to, size_of(bytes));
  }
  /// The same, as the items of TO.
  void read(int member, Count offset, const Buffer& to) {
    const Count bytes = bytes_of(to);
    if (is_contiguous(*to.type))
      return read(member, offset, static_cast<std::byte*>(to.data), bytes);
    if (!packed_) packed_ = std::make_unique_for_overwrite<std::byte[]>(size_of(bytes));
    read(member, offset, packed_.get(), bytes);
    if (is_whole()) p2p::unpack(to, 0, packed_.get(), bytes);
  }
  /// All that was asked for has been read so far.
  [[nodiscard]] bool is_whole() const { return result_.ok() && !was_refused_; }
  /// Waits until all are done. False if a host refused one of them, which then do not read again.
  bool end() {
    if (team_.do_all_say(!was_refused_)) [[likely]]
      return true;
    team_.stop_reading();
    return false;
  }
  /// What is wrong with what others gave, if anything is.
  [[nodiscard]] Result<void> take_result() { return std::move(result_); }

 private:
  struct Offer {
    std::uint64_t data;
    std::uint64_t bytes;
  };
  Team& team_;
  const std::size_t bytes_;
  std::unique_ptr<std::byte[]> packed_;  // of one length in all reads
  bool was_refused_ = false;
  Result<void> result_;
};

/// What others read must lie in one piece: BUFFER's bytes, or a copy of them.
class OnePiece {
 public:
  explicit OnePiece(const ConstBuffer& buffer) : data_(static_cast<const std::byte*>(buffer.data)) {
    if (!is_contiguous(*buffer.type)) copy(buffer);
  }
  /// Apart from BUFFER, which may be written while others read.
  void set_apart(const ConstBuffer& buffer) {
    if (!packed_) copy(buffer);
  }
  [[nodiscard]] const std::byte* data() const { return data_; }

 private:
  void copy(const ConstBuffer& buffer) {
    const Count bytes = bytes_of(buffer);
    packed_ = std::make_unique_for_overwrite<std::byte[]>(size_of(bytes));
    p2p::pack(buffer, 0, packed_.get(), bytes);
    data_ = packed_.get();
  }
  std::unique_ptr<std::byte[]> packed_;
  const std::byte* data_;
};

}  // namespace

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

Result<void> direct_reduce(Team& team, const ReduceArguments& a) {
  const Items items{*a.type, *a.op};
  const Count bytes = items.bytes(a.count);
  const int me = team.rank(), other = 1 - me;
  if (me != a.root) {
    Reading reading(team, static_cast<const std::byte*>(a.send), bytes);
    return reading.end() ? reading.take_result() : shared_reduce(team, a);
  }
  // In pieces that stay in the cache until they are combined; but nothing of what is still needed
  // if the host refuses is overwritten.
  constexpr Count piece_bytes = 128 << 10;
  const Count most = a.in_place ? a.count : std::max<Count>(1, piece_bytes / items.type.size());
  const auto* const mine = static_cast<const std::byte*>(a.in_place ? a.receive : a.send);
  auto* const receive = static_cast<std::byte*>(a.receive);
  // What is theirs comes to where the result is to be, if it is the second operand.
  const bool needs_room = a.in_place || me != 0;
  const auto room = needs_room ? std::make_unique_for_overwrite<std::byte[]>(
                                     size_of(items.bytes(std::min(most, a.count))))
                               : nullptr;
  Reading reading(team, nullptr, bytes);
  for (Count first = 0; first < a.count; first += most) {
    const Count count = std::min(most, a.count - first), offset = items.bytes(first);
    std::byte* const theirs = needs_room ? room.get() : receive + offset;
    reading.read(other, offset, theirs, items.bytes(count));
    if (!reading.is_whole()) break;
    items.combine_two(mine + offset, me == 0, theirs, receive + offset, count);
  }
  return reading.end() ? reading.take_result() : shared_reduce(team, a);
}

}  // namespace hawser::collective
