// What comes next of several messages of one peer, copied by one call of the kernel: a call takes
// some 0.3 us, as long as 10 KiB.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace hawser::p2p {

class CopyRun {
 public:
  static constexpr std::size_t pieces_max = 8;
  using Pieces = std::span<const transport::MemoryPiece>;

  /// CHUNK_BYTES: the most of one message.
  explicit CopyRun(std::int64_t chunk_bytes)
      : chunk_bytes_(static_cast<std::size_t>(chunk_bytes)) {}

  /// BYTES to or from REMOTE in the memory of a peer, for whom WHOSE stands; as many as are
  /// copied in one run. False if there is no room for them, or those before were another's.
  bool add(const void* whose, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes) {
    if (count_ == pieces_max || bytes_ >= bytes_enough) return false;
    if (count_ > 0 && whose_ != whose) return false;
    whose_ = whose;
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, chunk_bytes_);
    local_[count_] = {local, piece};
    remote_[count_] = {remote, piece};
    ++count_;
    bytes_ += piece;
    return true;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Pieces local() const { return std::span(local_).first(count_); }
  [[nodiscard]] Pieces remote() const { return std::span(remote_).first(count_); }
  /// Of COPIED bytes, or an error: HAS(number, bytes) for each piece of which some are there. False
  /// if none are of any: then the first piece was refused.
  template <class Has>
  bool distribute(std::int64_t copied, const Has& has) const {
    if (copied <= 0) return false;
    auto left = static_cast<std::uint64_t>(copied);
    for (std::size_t number = 0; number < count_ && left > 0; ++number) {
      const std::uint64_t bytes = std::min(left, local_[number].bytes);
      left -= bytes;
      has(number, bytes);
    }
    return true;
  }

 private:
  /// With which a run is long enough. Who waits for the first of its pieces waits for all.
  static constexpr std::size_t bytes_enough = 256 << 10;

  std::size_t chunk_bytes_;
  const void* whose_ = nullptr;
  std::array<transport::MemoryPiece, pieces_max> local_;
  std::array<transport::MemoryPiece, pieces_max> remote_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// The first COUNT of LIST have had their turn: those that NEEDS_MORE(item) holds for come behind
/// the others.
template <class Item, class NeedsMore>
void put_behind(std::vector<Item>& list, std::size_t count, const NeedsMore& needs_more) {
  const auto had_turn = list.begin() + static_cast<std::ptrdiff_t>(count);
  if (std::none_of(list.begin(), had_turn, needs_more)) return;
  const auto first = std::stable_partition(list.begin(), had_turn,
                                           [&](const Item& item) { return !needs_more(item); });
  std::rotate(first, had_turn, list.end());
}

}  // namespace hawser::p2p
