#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "core/comm/comm.hpp"

namespace hawser::core {
namespace {

constexpr std::size_t slots_min = 8;

}  // namespace

void PeerCache::insert(int rank, void* peer) {
  HAWSER_ASSERT(rank >= 0);
  if (slots_.empty()) grow();
  Slot& slot = slots_[slot_of(rank)];
  if (slot.rank != rank) ++used_;
  slot = {rank, peer};
  if (2 * used_ > slots_.size()) grow();
}

void PeerCache::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(std::max(slots_min, 2 * slots_.size())));
  shift_ = 32 - std::countr_zero(slots_.size());
  for (const Slot& slot : old) {
    if (slot.rank >= 0) slots_[slot_of(slot.rank)] = slot;
  }
}

}  // namespace hawser::core
