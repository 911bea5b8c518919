// Cells: memory for frames longer than a line that two processes pass to and fro.
//
// A frame in a cell gives the cell to its receiver, whose own next longer frame goes into it. In an
// area of a ring (ring.hpp) a cache line travels twice for each frame: the receiver's core fetches
// what was written, and the sender's takes the line back before it writes again. A cell is written
// by who has read it last, so its lines travel once; and the one that came last is in that core's
// cache still. Who has no cell uses the ring's areas: where frames go one way only, all cells are
// soon at the end of it, and stay there.
//
//   pool: as many cells as the ring's shape says, of cell_bytes each, behind its long area
//
// A pool comes with the long area of a ring and goes with the ring; at first the ring's sender has
// all of its cells. So a pair has up to two pools, one in the segment of each.
// Nothing that the peer says is trusted: a cell that there is not, or that we have, is refused.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace hawser::transport::shm {

/// 32 KiB of data and a header, wherever in a cache line they begin, and what is before them.
inline constexpr std::size_t cell_bytes = 32768 + 256;
/// Frames begin so far behind the start of a cell. What programs send often begins with a page, as
/// cells do: to copy between places that lie alike in their pages takes 2 to 3 % longer (4 to 16
/// KiB, EPYC 9004).
inline constexpr std::size_t cell_start_bytes = 64;
inline constexpr std::size_t cell_room_bytes = cell_bytes - cell_start_bytes;
inline constexpr std::uint32_t cells_max = 1024;  // in a pool
/// Such as the parts of a long message.
inline constexpr std::size_t long_cell_frame_bytes = std::size_t{12} * 1024;

/// How a frame names its cell:
///
///   31                                30                                0
///  +---------------------------------+-----------------------------------+
///  | in the frame's receiver's segment | number in the pool                |
///  +---------------------------------+-----------------------------------+
using CellName = std::uint32_t;

/// The cells that one of the two has, and what it knows of the others. One thread at a time.
class Cells {
 public:
  enum class Home : std::uint8_t { ours, theirs };  // in whose segment

  /// There is a pool of COUNT cells at MEMORY. We have THEIRS, which came with our ring to the
  /// peer; the peer has OURS.
  void open(Home home, std::byte* memory, std::uint32_t count) {
    Pool& pool = pool_of(home);
    pool = {memory, count, true, std::vector<bool>(count, false)};
    row_ = 0;
    if (home == Home::theirs)
      for (std::uint32_t number = count; number-- > 0;) take(pool, {home, number});
  }
  /// The pool is nobody's any more. What was sent before can be read still.
  void close(Home home) {
    pool_of(home).is_open = false;
    row_ = 0;
    std::erase_if(held_, [&](const Cell& cell) { return cell.home == home; });
  }

  [[nodiscard]] bool has_any() const { return !held_.empty(); }
  /// There are cells, but we have none.
  [[nodiscard]] bool are_all_away() const {
    return held_.empty() && (pools_[0].is_open || pools_[1].is_open);
  }
  struct Passed {
    std::byte* memory;
    CellName name;  // as the frame says it
    Home home;
  };
  /// One goes to the peer, with the frame of BYTES that is written into it: of those that came
  /// since we passed one last, one that brought as much, whose lines we have read. If several did,
  /// it is for a long frame the one that came first: a long message lies in a row then, and the
  /// processor that reads it fetches ahead. For a short frame it is the one that came last, as
  /// where none did.
  Passed pass(std::size_t bytes) {
    const Cell cell = is_last_best(bytes) ? take_last() : take_from_row(bytes);
    Pool& pool = pool_of(cell.home);
    pool.is_held[cell.number] = false;
    return {pool.at(cell.number), (cell.home == Home::theirs ? receivers_bit : 0) | cell.number,
            cell.home};
  }

  /// A frame of BYTES that begins PHASE bytes behind where frames can, in the cell that the peer
  /// calls NAME; empty if that can't be.
  [[nodiscard]] std::span<const std::byte> look_into(CellName name, std::size_t bytes,
                                                     std::size_t phase) const {
    const Cell cell = cell_of(name);
    const Pool& pool = pools_[place(cell.home)];
    if (cell.number >= pool.count || pool.is_held[cell.number] || phase + bytes > cell_room_bytes)
      return {};
    return {pool.at(cell.number) + phase, bytes};
  }
  /// The frame of BYTES in NAME, which look_into() found, has been read: the cell is ours now.
  void take(CellName name, std::size_t bytes) {
    const Cell cell = cell_of(name);
    Pool& pool = pool_of(cell.home);
    if (!pool.is_open) return;
    take(pool, {cell.home, cell.number, static_cast<std::uint32_t>(bytes)});
    row_ = std::exchange(is_row_under_way_, false) ? 1 : row_ + 1;
  }

 private:
  static constexpr CellName receivers_bit = 1U << 31;

  /// The most cells that are looked at for a frame.
  static constexpr std::size_t looks_max = 16;

  struct Cell {
    Home home;
    std::uint32_t number;
    std::uint32_t bytes = 0;  // that it brought
  };
  struct Pool {
    std::byte* memory = nullptr;
    std::uint32_t count = 0;
    bool is_open = false;
    std::vector<bool> is_held;  // by us

    [[nodiscard]] std::byte* at(std::uint32_t number) const {
      return memory + number * cell_bytes + cell_start_bytes;
    }
  };

  static std::size_t place(Home home) { return static_cast<std::size_t>(home); }
  static Cell cell_of(CellName name) {
    return {(name & receivers_bit) != 0 ? Home::ours : Home::theirs, name & ~receivers_bit};
  }
  Pool& pool_of(Home home) { return pools_[place(home)]; }
  /// It brought as much, and not much more: no other one would do better.
  static bool fits(const Cell& cell, std::size_t bytes) {
    return cell.bytes >= bytes && cell.bytes < 2 * bytes;
  }
  /// Whether it is clear without a search that the one that came last is for a frame of BYTES.
  [[nodiscard]] bool is_last_best(std::size_t bytes) const {
    return row_ <= 1 || (bytes < long_cell_frame_bytes && fits(held_.back(), bytes));
  }
  Cell take_last() {
    const Cell cell = held_.back();
    held_.pop_back();
    row_ -= std::min<std::size_t>(row_, 1);
    is_row_under_way_ = true;
    return cell;
  }
  /// Of more than one that came since we passed one, that for a frame of BYTES.
  [[gnu::noinline]] Cell take_from_row(std::size_t bytes) {
    const bool is_long = bytes >= long_cell_frame_bytes;
    std::size_t best = held_.size() - 1, least = ~std::size_t{0};
    for (std::size_t looks = 0; looks < std::min(row_, looks_max); ++looks) {
      const std::size_t at = is_long ? held_.size() - row_ + looks : held_.size() - 1 - looks;
      if (held_[at].bytes < bytes || held_[at].bytes >= least) continue;
      best = at;
      least = held_[at].bytes;
      if (fits(held_[at], bytes)) break;
    }
    std::rotate(held_.begin() + static_cast<std::ptrdiff_t>(best),
                held_.begin() + static_cast<std::ptrdiff_t>(best) + 1, held_.end());
    return take_last();
  }
  void take(Pool& pool, Cell cell) {
    pool.is_held[cell.number] = true;
    held_.push_back(cell);
  }

  std::array<Pool, 2> pools_;
  std::vector<Cell> held_;  // the one that came last at the end
  std::size_t row_ = 0;  // of them, at the end: what came since we passed one, one after the other
  bool is_row_under_way_ = false;  // some of those have been passed
};

}  // namespace hawser::transport::shm
