#include "softrdma/queue/shared_receive_queue.hpp"

#include <algorithm>

namespace softrdma::queue {

bool SharedReceiveQueue::resize(std::uint32_t capacity) {
  if (capacity < ring_.size()) return false;
  ReceiveQueue ring(capacity, ring_.entries_max());
  for (std::uint64_t i = ring_.first(); i < ring_.end(); ++i) {
    ReceiveWork& from = ring_.at(i);
    ReceiveWork& to = ring.next();
    to = from;
    std::ranges::copy(ring_.entries(from), ring.entries(to).begin());
    ring.push();
  }
  ring_ = std::move(ring);
  return true;
}

}  // namespace softrdma::queue
