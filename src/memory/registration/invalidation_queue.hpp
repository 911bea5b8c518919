// InvalidationQueue: memory that is about to go, on its way from whatever thread takes it away to
// the one that owns the registrations.
//
// note() runs inside of munmap, free, madvise or brk of the program, with any lock of the heap or
// of the program held, and also while this very thread drains. So it takes no lock, allocates
// nothing, waits for nobody and can't fail: when all places are taken it says that everything has
// changed, which is never wrong.
//
//   free    a stack of empty places; a counter beside the top keeps two who pop at once apart
//   noted   a stack of filled ones, and the bit that says "everything"; one load tells that there
//           is nothing
//
// A thread that has taken a place and not noted it yet has not returned from note(): its memory is
// still there, so that nobody misses the event.
// Threads: note() any, at any time, also in a child of fork(); drain() one at a time.
// Order:   what was noted before a drain() began is drained by it. Ranges come in no order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "memory/registration/address_range.hpp"

namespace hawser::memory {

/// Places of an InvalidationQueue: 24 KiB.
inline constexpr std::uint32_t noted_ranges_max = 1024;

class InvalidationQueue {
 public:
  InvalidationQueue();
  InvalidationQueue(const InvalidationQueue&) = delete;
  InvalidationQueue& operator=(const InvalidationQueue&) = delete;

  /// RANGE is about to be something else.
  void note(const AddressRange& range);

  // acquire: whoever sees that there is nothing has also seen what was drained.
  [[nodiscard]] bool is_empty() const { return noted_.load(std::memory_order_acquire) == nothing; }

  /// Calls CONSUME with every range that was noted, which may note others meanwhile: they stay
  /// for the next time.
  template <class Consume>
  void drain(Consume&& consume) {
    if (is_empty()) return;
    // acquire: pairs with the release of every note() since the last drain, as each of them was a
    // read-modify-write of the same word.
    const std::uint64_t taken = noted_.exchange(nothing, std::memory_order_acquire);
    if ((taken & everything) != 0) consume(whole_address_space);
    for (std::uint32_t place = place_of(taken); place != no_place;) {
      const AddressRange range = nodes_[place].range;
      const std::uint32_t next = nodes_[place].next.load(std::memory_order_relaxed);
      give_back(place);
      place = next;
      consume(range);
    }
  }

 private:
  struct Node {
    AddressRange range;
    // Atomic, because who pops reads it while another one may have popped the node already.
    std::atomic<std::uint32_t> next;
  };

  static constexpr std::uint32_t no_place = 0xffffffff;
  static constexpr std::uint64_t nothing = no_place;
  static constexpr std::uint64_t everything = std::uint64_t{1} << 32;

  static constexpr std::uint32_t place_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  }
  std::uint32_t take_place();
  void give_back(std::uint32_t place);

  std::atomic<std::uint64_t> noted_{nothing};  // bit 32: everything; below: the top's place
  std::atomic<std::uint64_t> free_;            // from bit 32 on: how often it changed; the top
  std::array<Node, noted_ranges_max> nodes_;
};

}  // namespace hawser::memory
