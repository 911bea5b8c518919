// SharedReceives: the buffers in which all connected peers' frames of one priority arrive, in a
// shared receive queue.
//
// Ownership: owns queue and buffers; borrows port and ledger.
// Threads:   the lane lock.
// Bounds:    as many buffers as set_target() says; a frame that finds none waits in its sender's
//            adapter, which the senders' windows prevent (Link::receive_window). Where fewer are
//            wanted than wait, they go as they are used, which is in the order of their posting:
//            so whole slabs fall idle, and go.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/port_registrar.hpp"

namespace hawser::transport::verbs {

class SharedReceives {
 public:
  struct Shape {
    std::size_t frame_bytes;
    std::size_t buffers_max;
  };
  /// TAG: what the wr_id of its buffers has besides their address, below `tags`.
  static Result<std::unique_ptr<SharedReceives>> open(const Port& port, memory::Ledger& ledger,
                                                      const Shape& shape, std::uint64_t tag);
  ~SharedReceives();
  SharedReceives(const SharedReceives&) = delete;
  SharedReceives& operator=(const SharedReceives&) = delete;

  [[nodiscard]] ibv_srq* queue() const { return queue_.get(); }
  [[nodiscard]] std::size_t frame_bytes() const { return shape_.frame_bytes; }
  [[nodiscard]] std::size_t target() const { return target_; }

  /// So many BUFFERS, at most buffers_max, shall wait for frames. Too many go as they are used.
  void set_target(std::size_t buffers);

  /// What arrived, valid until repost(); nothing if the request ended in error.
  std::span<const std::byte> take(const ibv_wc& completion);
  /// Posts anew what was taken.
  void repost();

  /// The adapter shall report once (IBV_EVENT_SRQ_LIMIT_REACHED) that few buffers are left waiting.
  /// To be called when all that came was posted anew; does nothing while the last call still holds.
  void watch();
  /// It has.
  void on_reported() { is_watched_ = false; }

  static constexpr std::uint64_t tags = memory::BufferPool::alignment;

 private:
  using Buffer = memory::BufferPool::Buffer;

  SharedReceives(const Port& port, memory::Ledger& ledger, const Shape& shape, std::uint64_t tag);
  void post(std::span<Buffer* const> buffers);

  const Shape shape_;
  const std::uint64_t tag_;
  PortRegistrar registrar_;
  memory::BufferPool buffers_;
  SharedReceiveQueue queue_;
  std::size_t target_ = 0;
  bool is_watched_ = false;
  std::vector<Buffer*> posted_;  // in no order
  std::vector<Buffer*> taken_;   // of them
};

}  // namespace hawser::transport::verbs
