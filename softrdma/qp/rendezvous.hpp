// Rendezvous: what a queue pair with tag matching does by itself when the data of a message that
// matched is still in its sender's memory: it reads them, completes the buffer, and tells the
// sender, by a message that repeats the request's header (tag_matching.md among the documents of
// rdma-core).
//
// Its work goes through the send queue of the queue pair, which has sends_max places more than the
// program asked for. A few transfers go on at a time; the others wait, no more than the receive
// queue has buffers with tags.
//
// Ownership: borrows send queue, tags and listener. Threads: the adapter's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "softrdma/qp/context.hpp"
#include "softrdma/qp/receive.hpp"
#include "softrdma/queue/tag_matcher.hpp"
#include "softrdma/queue/work.hpp"

namespace softrdma::qp {

/// Data of one transfer, at most: what a message may have.
inline constexpr std::uint32_t transfer_bytes_max = 1U << 31;

class Rendezvous {
 public:
  /// That go on at a time. Each has a read in the send queue, and a message after it.
  static constexpr std::uint32_t transfers_max = reads_limit;
  static constexpr std::uint32_t sends_max = 2 * transfers_max;

  Rendezvous(queue::SendQueue& sends, queue::TagMatcher& tags, ResponderListener& listener)
      : sends_(sends), tags_(tags), listener_(listener) {}
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  void begin(const Transfer& transfer);
  /// WORK, of ours, is over.
  void on_sent(const queue::SendWork& work, ibv_wc_status status);
  /// Nothing more is sent: those that wait are over, as flushed.
  void flush();
  /// All that was begun is gone, also from the send queue, and nobody is told.
  void forget();
  /// How much of what is in the send queue is ours.
  [[nodiscard]] std::uint32_t sends() const { return sends_count_; }

 private:
  void read_next();
  void post_read(const Transfer& transfer);
  void post_end(const wire::TagHeader& request);
  void push(queue::SendWork& work);
  void end_oldest(ibv_wc_status status);

  queue::SendQueue& sends_;
  queue::TagMatcher& tags_;
  ResponderListener& listener_;
  std::deque<Transfer> transfers_;  // whose data are not here; the oldest first
  std::size_t reading_ = 0;         // of these, the first ones
  std::uint32_t active_ = 0;        // those, and whose sender has not been told
  std::uint32_t sends_count_ = 0;
};

}  // namespace softrdma::qp
