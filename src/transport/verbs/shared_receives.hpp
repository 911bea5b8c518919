// SharedReceives: the buffers in which all connected peers' frames of one priority arrive: a shared
// receive queue with its completion queue.
//
// Ownership: owns queues and buffers; borrows port, completion channel and ledger.
// Threads:   the lane lock.
// Bounds:    as many buffers as set_target() says; a frame that finds none waits in its sender's
//            adapter, which the senders' windows prevent (Link::receive_window).
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
  static Result<std::unique_ptr<SharedReceives>> open(const Port& port, ibv_comp_channel* channel,
                                                      memory::Ledger& ledger, const Shape& shape);
  ~SharedReceives();
  SharedReceives(const SharedReceives&) = delete;
  SharedReceives& operator=(const SharedReceives&) = delete;

  [[nodiscard]] ibv_srq* queue() const { return queue_.get(); }
  [[nodiscard]] ibv_cq* completions() const { return completions_.get(); }
  [[nodiscard]] std::size_t frame_bytes() const { return shape_.frame_bytes; }
  [[nodiscard]] std::size_t target() const { return target_; }

  /// So many BUFFERS, at most buffers_max, shall wait for frames. Too many go as they are used.
  void set_target(std::size_t buffers);

  /// Calls HANDLE(const ibv_wc&, std::span<const std::byte>) for what has arrived, and for what
  /// ended in error with nothing; true if anything has.
  template <class Handle>
  bool poll(Handle&& handle);
  void arm() { ibv_req_notify_cq(completions_.get(), 0); }

 private:
  static constexpr int completions_per_poll_max = 16;
  using Buffer = memory::BufferPool::Buffer;

  SharedReceives(const Port& port, memory::Ledger& ledger, const Shape& shape);
  void post(std::span<Buffer* const> buffers);
  void repost_or_free(std::span<Buffer* const> buffers);

  const Shape shape_;
  PortRegistrar registrar_;
  memory::BufferPool buffers_;
  CompletionQueue completions_;
  SharedReceiveQueue queue_;
  std::size_t target_ = 0;
  std::vector<Buffer*> posted_;  // in no order
};

template <class Handle>
bool SharedReceives::poll(Handle&& handle) {
  ibv_wc found[completions_per_poll_max];
  const int count = ibv_poll_cq(completions_.get(), completions_per_poll_max, found);
  if (count <= 0) return false;
  Buffer* used[completions_per_poll_max];
  std::size_t number = 0;
  for (const ibv_wc& completion : std::span(found, static_cast<std::size_t>(count))) {
    auto* const buffer = reinterpret_cast<Buffer*>(completion.wr_id);
    used[number++] = buffer;
    const std::size_t bytes = completion.status == IBV_WC_SUCCESS ? completion.byte_len : 0;
    handle(completion, std::span<const std::byte>(buffer->data(), bytes));
  }
  repost_or_free({used, number});
  return true;
}

}  // namespace hawser::transport::verbs
