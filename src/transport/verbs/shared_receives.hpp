// SharedReceives: the shared receive queue in which all connected peers' frames of one priority
// arrive.
//
// Ownership: owns queue and buffers; borrows port and pool.
// Threads:   the lane lock.
// Bounds:    see ReceiveBuffers; a frame that finds none waits in its sender's adapter, which the
//            senders' windows prevent (Link::receive_window).
#pragma once

#include <memory>

#include "transport/verbs/port.hpp"
#include "transport/verbs/receive_buffers.hpp"

namespace hawser::transport::verbs {

class SharedReceives {
 public:
  /// Of up to BUFFERS_MAX buffers that wait at a time.
  static Result<std::unique_ptr<SharedReceives>> open(const Port& port, ReceivePool& pool,
                                                      std::size_t buffers_max);

  /// One of XRC, in DOMAIN, that COMPLETIONS tell of.
  static Result<std::unique_ptr<SharedReceives>> open_xrc(const Port& port, ReceivePool& pool,
                                                          std::size_t buffers_max, ibv_xrcd* domain,
                                                          ibv_cq* completions);

  /// How many buffers shall wait for PEERS (at least one): more by the logarithm of their number.
  static std::size_t buffers_for(std::size_t peers, const Settings& settings);
  /// How many of BUFFERS each of PEERS may fill; a few are for messages that need no window.
  static std::uint32_t window(std::size_t buffers, std::size_t peers);

  [[nodiscard]] ibv_srq* queue() const { return queue_.get(); }
  [[nodiscard]] ReceiveBuffers& buffers() { return buffers_; }

  /// The adapter shall report once (IBV_EVENT_SRQ_LIMIT_REACHED) that few buffers are left waiting.
  /// To be called when all that came was posted anew; does nothing while the last call still holds.
  void watch();
  /// It has.
  void on_reported() { is_watched_ = false; }

 private:
  SharedReceives(SharedReceiveQueue queue, ReceivePool& pool)
      : buffers_(pool, *queue), queue_(std::move(queue)) {}

  ReceiveBuffers buffers_;  // which the queue uses as long as it is there
  SharedReceiveQueue queue_;
  bool is_watched_ = false;
};

}  // namespace hawser::transport::verbs
