// Datagrams: the one datagram queue pair by which this process reaches all its peers and is reached
// by them. Nothing in it grows with their number.
//
// What arrives is handed on in place, and its buffer posted anew at once.
// Ownership: owns queue pair, queues and the buffers that datagrams arrive in; borrows port,
//            completion channel and the buffers that they are sent from.
// Threads:   the lane lock.
// Bounds:    a datagram that finds no buffer at the receiver is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/port_registrar.hpp"
#include "transport/verbs/posted_work.hpp"
#include "transport/verbs/send_buffers.hpp"

namespace hawser::transport::verbs {

/// What was received: valid until the next poll.
struct ReceivedDatagram {
  ibv_wc* completion;
  std::byte* route;  // the adapter's 40 bytes
  std::span<const std::byte> bytes;
};

class Datagrams {
 public:
  /// The key that all datagram queue pairs of Hawser share. It keeps out nobody: that is the
  /// token's business.
  static constexpr std::uint32_t queue_key = 0x0048'5752;

  /// What else it works with. CHANNEL tells of what arrives.
  struct Environment {
    const Port& port;
    ibv_comp_channel* channel;
    SendBuffers& buffers;
    memory::Ledger& ledger;
    bool expects_many = true;
  };
  static Result<std::unique_ptr<Datagrams>> open(const Environment& environment,
                                                 const Settings& settings);

  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  /// Where few were expected, so far, there are few buffers: a rail that nobody uses costs little.
  void expect_many();
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
  [[nodiscard]] std::uint32_t number() const { return queue_pair_->qp_num; }
  /// One more can be posted now.
  [[nodiscard]] bool has_room() {
    if (posted_.is_full()) [[unlikely]]
      reap_sends();
    return !posted_.is_full();
  }
  /// Gives back the buffers of what has left.
  void reap_sends();
  /// Sends FRAME, which has BYTES, with the header in front of it. False: there is no room now.
  bool post(std::byte* frame, std::size_t bytes, ibv_ah* to, std::uint32_t queue_pair);

  /// Calls HANDLE(ReceivedDatagram) for what has arrived; true if anything has.
  template <class Handle>
  bool poll(Handle&& handle);
  /// The channel tells of the next datagram that arrives.
  void arm() { ibv_req_notify_cq(receive_completions_.get(), 0); }
  /// Nothing is under way on this side.
  [[nodiscard]] bool is_drained();

 private:
  static constexpr int completions_per_poll_max = 16;
  static constexpr std::size_t few_receives = 16;

  using Buffer = memory::BufferPool::Buffer;

  Datagrams(const Environment& environment, const Settings& settings);
  Result<void> take_receive_buffers(std::size_t buffers);
  Result<void> make_queues();
  Result<void> make_ready();
  void post_receives(std::span<Buffer* const> buffers);

  const Port& port_;
  ibv_comp_channel* const channel_;
  SendBuffers& buffers_;
  const std::size_t queue_depth_;    // sendings under way at most
  const std::size_t receives_;       // buffers that wait for datagrams
  const std::size_t receive_bytes_;  // of one
  PortRegistrar registrar_;
  memory::BufferPool receive_buffers_;
  CompletionQueue send_completions_;
  CompletionQueue receive_completions_;
  QueuePair queue_pair_;
  std::size_t inline_bytes_max_ = 0;
  PostedWork posted_;
  std::uint64_t bytes_sent_ = 0;
  std::vector<Buffer*> waiting_;  // all buffers that datagrams arrive in
  std::vector<Buffer*> to_repost_;
};

template <class Handle>
bool Datagrams::poll(Handle&& handle) {
  ibv_wc completions[completions_per_poll_max];
  const int count = ibv_poll_cq(receive_completions_.get(), completions_per_poll_max, completions);
  if (count <= 0) return false;
  to_repost_.clear();
  for (ibv_wc& completion : std::span(completions, static_cast<std::size_t>(count))) {
    auto* const buffer = reinterpret_cast<Buffer*>(completion.wr_id);
    std::byte* const memory = buffer->data();
    to_repost_.push_back(buffer);
    if (completion.status != IBV_WC_SUCCESS || completion.byte_len < global_route_bytes) continue;
    handle(
        ReceivedDatagram{&completion,
                         memory,
                         {memory + global_route_bytes, completion.byte_len - global_route_bytes}});
  }
  post_receives(to_repost_);
  return true;
}

}  // namespace hawser::transport::verbs
