// SharedReceiveQueue: receive work for many queue pairs, and the limit below which its owner wants
// to hear once (InfiniBand Architecture Specification, volume 1, §10.2.9).
//
// Ownership: of its entries; the listener is borrowed. Threads: the adapter's lock.
#pragma once

#include <cstdint>
#include <utility>

#include "softrdma/queue/work.hpp"

namespace softrdma::queue {

class LimitListener {
 public:
  virtual ~LimitListener() = default;
  virtual void on_limit_reached() = 0;
};

class SharedReceiveQueue {
 public:
  SharedReceiveQueue(std::uint32_t capacity, std::uint32_t entries_max, LimitListener& listener)
      : ring_(capacity, entries_max), listener_(listener) {}

  [[nodiscard]] ReceiveQueue& ring() { return ring_; }
  /// The oldest work was taken by a message.
  void pop() {
    ring_.pop();
    report_if_below();
  }
  /// One event once fewer than LIMIT entries are left; 0: none. At once if that is so already.
  void set_limit(std::uint32_t limit) {
    limit_ = limit;
    report_if_below();
  }
  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  /// False, and nothing is changed, if CAPACITY (at least 1) is less than what is in the queue.
  bool resize(std::uint32_t capacity);

 private:
  void report_if_below() {
    if (ring_.size() >= limit_) return;
    limit_ = 0;
    listener_.on_limit_reached();
  }

  ReceiveQueue ring_;
  LimitListener& listener_;
  std::uint32_t limit_ = 0;
};

}  // namespace softrdma::queue
