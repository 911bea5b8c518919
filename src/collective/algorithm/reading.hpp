// How members of a team read each other's memory in a collective.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/shared.hpp"

namespace hawser::collective {

/// From its making to end(), every member may read the memory that the others let it read, or write
/// it, if that is what they show.
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
    const Offer from = offer_of(member);
    if (!is_whole()) return;
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
  /// Whether MEMBER lets us write what it shows.
  [[nodiscard]] bool may_write(int member) { return offer_of(member).data != 0 && is_whole(); }
  /// BYTES at FROM to OFFSET of that.
  void write(int member, Count offset, const std::byte* from, Count bytes) {
    const Offer to = offer_of(member);
    if (!is_whole()) return;
    was_refused_ =
        !team_.write(member, to.data + static_cast<std::uint64_t>(offset), from, size_of(bytes));
  }
  /// All that was asked for has been copied so far.
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
  /// What MEMBER shows, if it is as long as ours.
  Offer offer_of(int member) {
    Offer offer;
    std::memcpy(&offer, team_.shown_by(member, sizeof(offer)), sizeof(offer));
    team_.expect(member, sizeof(offer), result_);
    team_.expect_bytes(member, offer.bytes, bytes_, result_);
    return offer;
  }
  Team& team_;
  const std::size_t bytes_;
  std::unique_ptr<std::byte[]> packed_;  // of one length in all reads
  bool was_refused_ = false;
  Result<void> result_;
};

/// VISIT(member) for all others, from this member's next() one on: not all read the same at a time.
template <class Visit>
void for_each_other(const Team& team, const Visit& visit) {
  for (int step = 1; step < team.size(); ++step) visit((team.rank() + step) % team.size());
}

/// What others read must lie in one piece: BUFFER's bytes, or a copy of them.
class OnePiece {
 public:
  /// IS_WRITTEN: while others read; then it is a copy.
  explicit OnePiece(const ConstBuffer& buffer, bool is_written = false)
      : data_(static_cast<const std::byte*>(buffer.data)) {
    if (!is_written && is_contiguous(*buffer.type)) return;
    const Count bytes = bytes_of(buffer);
    packed_ = std::make_unique_for_overwrite<std::byte[]>(size_of(bytes));
    p2p::pack(buffer, 0, packed_.get(), bytes);
    data_ = packed_.get();
  }
  [[nodiscard]] const std::byte* data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> packed_;
  const std::byte* data_;
};

}  // namespace hawser::collective
