// ReceiveBuffers: the buffers that wait for frames in one receive queue, which is a queue pair's
// own or shared by many.
//
// Ownership: borrows pool and queue, which outlive it or are gone with all that was posted.
// Threads:   the lane lock.
// Bounds:    as many buffers as set_target() says, or what the pool has. Queues give none back that
//            waits: where fewer are wanted, they go as frames use them, in the order of their
//            posting, so that whole slabs fall idle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/verbs/handles.hpp"
#include "transport/verbs/receive_pool.hpp"

namespace hawser::transport::verbs {

class ReceiveBuffers {
 public:
  ReceiveBuffers(ReceivePool& pool, ibv_srq& queue) : pool_(pool), shared_(&queue) {}
  ReceiveBuffers(ReceivePool& pool, ibv_qp& queue_pair) : pool_(pool), own_(&queue_pair) {}
  /// The queue is gone, or nothing comes by it any more.
  ~ReceiveBuffers();
  ReceiveBuffers(const ReceiveBuffers&) = delete;
  ReceiveBuffers& operator=(const ReceiveBuffers&) = delete;

  [[nodiscard]] std::size_t target() const { return target_; }
  /// Those that wait, or hold what was taken.
  [[nodiscard]] std::size_t posted() const { return posted_.size(); }
  /// Those that hold what was taken.
  [[nodiscard]] std::size_t taken() const { return taken_.size(); }

  /// So many BUFFERS shall wait.
  void set_target(std::size_t buffers);
  /// What arrived, valid until repost(); nothing if the request ended in error.
  std::span<const std::byte> take(const ibv_wc& completion);
  /// Posts anew what was taken.
  void repost();

 private:
  using Buffer = memory::BufferPool::Buffer;

  void post(std::span<Buffer* const> buffers);

  ReceivePool& pool_;
  ibv_srq* shared_ = nullptr;
  ibv_qp* own_ = nullptr;
  std::size_t target_ = 0;
  std::vector<Buffer*> posted_;  // in no order
  std::vector<Buffer*> taken_;   // of them
};

}  // namespace hawser::transport::verbs
