// ZeroCopyQueuePair: a datagram queue pair for transfers without copies, from state to state.
//
// A queue key belongs to one transfer: datagrams with another one are dropped by the adapter, so
// that what is late of an earlier transfer never reaches the memory of this one.
// Ownership: owns the queue pair; borrows the port, and the completion queue that make() is given.
// Threads:   the lane lock.
// Errors:    say what the adapter refuses, and why; the queue pair is gone then.
#pragma once

#include <cstdint>

#include "transport/verbs/port.hpp"

namespace hawser::transport::verbs {

class ZeroCopyQueuePair {
 public:
  explicit ZeroCopyQueuePair(const Port& port) : port_(&port) {}

  [[nodiscard]] ibv_qp* get() const { return queue_pair_.get(); }
  [[nodiscard]] bool exists() const { return queue_pair_ != nullptr; }

  Result<void> make(ibv_cq* completions, const ibv_qp_cap& capacity);
  /// From here on it receives datagrams with QUEUE_KEY only, and can send; even if it has failed
  /// meanwhile. Nothing is posted.
  Result<void> open(std::uint32_t queue_key);
  /// When this returns, the adapter uses no memory for it any more, and what was posted is
  /// forgotten. open() follows before it is used again; an adapter that refuses even this loses the
  /// queue pair.
  void reset();

 private:
  bool change_key(std::uint32_t queue_key);
  Result<void> make_ready(std::uint32_t queue_key);
  bool modify(ibv_qp_attr& attributes, int given);

  const Port* port_;
  QueuePair queue_pair_;
  bool is_ready_ = false;  // it sends and receives
};

}  // namespace hawser::transport::verbs
