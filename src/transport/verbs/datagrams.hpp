// Datagrams: the one datagram queue pair by which this process reaches all its peers and is reached
// by them, with its buffers. Nothing in it grows with their number.
//
// A buffer to send from is reserved, filled and posted, perhaps several times; it is free again
// once it is released and none of its sendings is under way. What arrives is handed on in place,
// and its buffer posted anew at once.
// Ownership: owns queue pair, queues and buffers; borrows the port.
// Threads:   the lane lock.
// Bounds:    buffers to send from grow with the frames that peers leave unanswered, up to a limit,
//            where whoever wants one has to wait; a few others are for what needs no answer. A
//            datagram that finds no buffer at the receiver is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/port_registrar.hpp"

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

  static Result<std::unique_ptr<Datagrams>> open(const Port& port, const Settings& settings,
                                                 memory::Ledger& ledger);

  ~Datagrams();
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  [[nodiscard]] std::uint32_t number() const { return queue_pair_->qp_num; }
  /// Room for a datagram of an MTU; null if there is none now.
  std::byte* reserve() { return reserve_from(kept_buffers_); }
  /// The same for one that will be released as soon as it is posted.
  std::byte* reserve_briefly() { return reserve_from(brief_buffers_); }
  /// Most of the buffers that there may be are taken.
  [[nodiscard]] bool is_scarce() const { return taken_ > taken_if_scarce_; }
  /// Sends the first BYTES of a reserved DATAGRAM. False: there is no room in the queue now.
  bool post(std::byte* datagram, std::size_t bytes, ibv_ah* to, std::uint32_t queue_pair);
  /// DATAGRAM is not needed any more, though perhaps still under way.
  void release(std::byte* datagram);

  /// Calls HANDLE(ReceivedDatagram) for what has arrived; true if anything has.
  template <class Handle>
  bool poll(Handle&& handle);
  /// From here to the next call, descriptor() becomes readable when a datagram arrives.
  void arm();
  [[nodiscard]] int descriptor() const { return channel_->fd; }
  /// Nothing is under way on this side.
  [[nodiscard]] bool is_drained();

 private:
  static constexpr int completions_per_poll_max = 16;
  static constexpr std::size_t brief_buffers = 32;

  using Buffer = memory::BufferPool::Buffer;
  /// In front of a datagram that is sent, in the same buffer.
  struct alignas(64) Note {
    memory::BufferPool* pool;
    Buffer* buffer;
    std::uint32_t under_way;  // sendings
    bool is_released;
  };
  static Note& note_of(std::byte* datagram) {
    return *reinterpret_cast<Note*>(datagram - sizeof(Note));
  }

  Datagrams(const Port& port, const Settings& settings, memory::Ledger& ledger);
  Result<void> take_receive_buffers();
  Result<void> make_queues();
  Result<void> make_ready();
  std::byte* reserve_from(memory::BufferPool& pool);
  [[nodiscard]] bool is_queue_full() const { return under_way_.size() >= queue_depth_; }
  void post_receives(std::span<Buffer* const> buffers);
  void reap_sends();
  void note_sent_up_to(std::uint64_t number);
  void free_if_done(std::byte* datagram);

  const Port& port_;
  const std::size_t queue_depth_;    // sendings under way at most
  const std::size_t receives_;       // buffers that wait for datagrams
  const std::size_t receive_bytes_;  // of one
  const std::size_t taken_if_scarce_;
  PortRegistrar registrar_;
  memory::BufferPool kept_buffers_;
  memory::BufferPool brief_buffers_;
  memory::BufferPool receive_buffers_;
  CompletionChannel channel_;
  CompletionQueue send_completions_;
  CompletionQueue receive_completions_;
  QueuePair queue_pair_;
  std::size_t inline_bytes_max_ = 0;
  std::size_t taken_ = 0;             // of kept_buffers_
  std::deque<std::byte*> under_way_;  // in the order of their sendings
  std::uint64_t posted_ = 0;          // sendings so far
  std::uint64_t reported_ = 0;        // of those whose end we know
  std::vector<Buffer*> waiting_;      // all buffers that datagrams arrive in
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
