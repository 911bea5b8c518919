// PeerReceives: the receive buffers of one queue pair alone, where no queue is shared
// (verbs.srq=off). There are as many as its peer may have frames on their way (its credits, which
// acknowledgements carry), and a few for messages that need no credit.
//
// Credits double while the peer uses them up, and halve when a look finds that it used none. What
// waits already for a peer that has fallen silent goes with the next frames that it sends, or with
// its connection.
// Ownership: borrows pool and queue pair, as ReceiveBuffers. Threads: the lane lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/verbs/receive_buffers.hpp"

namespace hawser::transport::verbs {

class PeerReceives {
 public:
  struct Credits {
    std::size_t first;  // and the fewest
    std::size_t most;
  };
  /// For connections, fast paths and their ends: one of each may be under way.
  static constexpr std::size_t without_credit = 4;
  /// Receive requests that a queue pair with CREDITS needs room for.
  static constexpr std::size_t requests_max(const Credits& credits) {
    return credits.most + without_credit;
  }

  PeerReceives(ReceivePool& pool, ibv_qp& queue_pair, const Credits& credits)
      : buffers_(pool, queue_pair), bounds_(credits) {
    grant(credits.first);
  }

  [[nodiscard]] ReceiveBuffers& buffers() { return buffers_; }
  [[nodiscard]] std::size_t credits() const { return credits_; }

  /// Posts anew what was taken, and more if the peer uses so many.
  void repost() {
    used_ += buffers_.taken();
    if (used_ >= credits_ * uses_per_doubling && credits_ < bounds_.most) {
      grant(std::min(2 * credits_, bounds_.most));
      used_ = 0;
    }
    buffers_.repost();
  }
  /// To be called once in a while.
  void look() {
    if (std::exchange(used_, 0) == 0 && credits_ > bounds_.first)
      grant(std::max(credits_ / 2, bounds_.first));
  }

 private:
  /// All credits have to be used so often.
  static constexpr std::size_t uses_per_doubling = 4;

  void grant(std::size_t credits) {
    credits_ = credits;
    buffers_.set_target(credits + without_credit);
  }

  ReceiveBuffers buffers_;
  const Credits bounds_;
  std::size_t credits_ = 0;
  std::size_t used_ = 0;  // since the last look or doubling
};

}  // namespace hawser::transport::verbs
