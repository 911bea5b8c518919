#include "memory/registration/invalidation_queue.hpp"

namespace hawser::memory {
namespace {

/// The word FREE with PLACE on top: another one than before, even if PLACE was there already.
constexpr std::uint64_t changed(std::uint64_t free, std::uint32_t place) {
  constexpr int count_shift = 32;
  return (((free >> count_shift) + 1) << count_shift) | place;
}

}  // namespace

InvalidationQueue::InvalidationQueue() : free_(0) {
  for (std::uint32_t place = 0; place < noted_ranges_max; ++place)
    nodes_[place].next.store(place + 1 < noted_ranges_max ? place + 1 : no_place,
                             std::memory_order_relaxed);
}

void InvalidationQueue::note(const AddressRange& range) {
  const std::uint32_t place = take_place();
  if (place == no_place) {
    noted_.fetch_or(everything, std::memory_order_release);
    return;
  }
  Node& node = nodes_[place];
  node.range = range;
  std::uint64_t noted = noted_.load(std::memory_order_relaxed);
  do {
    node.next.store(place_of(noted), std::memory_order_relaxed);
    // release: who drains sees the range.
  } while (!noted_.compare_exchange_weak(noted, (noted & everything) | place,
                                         std::memory_order_release, std::memory_order_relaxed));
}

std::uint32_t InvalidationQueue::take_place() {
  // acquire: pairs with give_back(), after whose reading we may write.
  std::uint64_t free = free_.load(std::memory_order_acquire);
  while (place_of(free) != no_place) {
    const std::uint32_t next = nodes_[place_of(free)].next.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(free, changed(free, next), std::memory_order_acquire))
      return place_of(free);
  }
  return no_place;
}

void InvalidationQueue::give_back(std::uint32_t place) {
  std::uint64_t free = free_.load(std::memory_order_relaxed);
  do {
    nodes_[place].next.store(place_of(free), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(free, changed(free, place), std::memory_order_release,
                                        std::memory_order_relaxed));
}

}  // namespace hawser::memory
