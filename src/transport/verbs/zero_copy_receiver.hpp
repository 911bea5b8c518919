// ZeroCopyReceiver: messages that the adapter writes where they belong, by datagrams, without a
// connection to their senders.
//
//   receiver                                   sender
//   begin(): posts a receive per segment:
//   40 bytes of route to scratch memory, the
//   segment to the user's     ── ClearToSend ──►  ZeroCopySender::send()
//   poll() ◄──────────── segments of the batch ──
//   next_batch: posts again   ── ClearToSend ──►  …
//   finished, or failed: the memory is the user's again
//
// A queue pair serves one transfer at a time, by a queue key that nobody else knows and that is
// used once. Receives are used up in the order of their posting, so segments are in place only if
// they come in theirs: whatever is lost, late, doubled or too long makes the transfer fail, and the
// caller repeats it by copying. Before that is reported, the queue pair is reset: the adapter
// writes into the memory no more. A transfer that finishes has used up all its receives.
// How ClearToSend travels, reliably and in order, is the caller's business, and so is the
// registration of the user's memory.
// Ownership: owns queue pairs, completion queue and scratch memory; borrows port, ledger and the
//            completion channel (null: nobody sleeps).
// Threads:   the lane lock.
// Bounds:    queue pairs are made when they are needed, up to a limit, and kept.
// Charged:   the scratch memory, one route for all, as soon as there is a queue pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/port_registrar.hpp"
#include "transport/verbs/zero_copy_queue_pair.hpp"
#include "transport/verbs/zero_copy_segments.hpp"

namespace hawser::transport::verbs {

class ZeroCopyReceiver {
 public:
  /// The user's memory; KEY opens it to the adapter, for writing.
  struct Destination {
    std::span<std::byte> memory;  // not empty
    std::uint32_t local_key;
  };
  struct Event {
    enum class Kind : std::uint8_t { next_batch, finished, failed };
    Kind kind;
    std::uint64_t owner;  // of begin()
    ClearToSend clear;    // of next_batch: for the sender
  };

  ZeroCopyReceiver(const Port& port, const ZeroCopySettings& settings, memory::Ledger& ledger,
                   ibv_comp_channel* channel);
  ~ZeroCopyReceiver();
  ZeroCopyReceiver(const ZeroCopyReceiver&) = delete;
  ZeroCopyReceiver& operator=(const ZeroCopyReceiver&) = delete;

  /// The longest message in segments of SEGMENT_BYTES.
  static constexpr std::size_t message_bytes_max(std::size_t segment_bytes) {
    return segment_bytes * SegmentNumber::segments_max;
  }

  /// Receives a message that fills DESTINATION, in segments of SEGMENT_BYTES, at most the MTU of
  /// both ports. OWNER: the caller's name of the transfer, unlike that of any other that is under
  /// way. Returns what the sender has to know.
  /// MPI_ERR_NO_MEM: all queue pairs have a transfer now; any other error: the adapter refuses, or
  /// the message is too long. The caller copies then.
  Result<ClearToSend> begin(std::uint64_t owner, const Destination& destination,
                            std::size_t segment_bytes, std::uint64_t now_ns);
  /// Gives up the transfer of OWNER, if it is under way; its memory is the user's again.
  void cancel(std::uint64_t owner);

  /// Takes in what has arrived; true if anything has, or has failed. It has to be called until it
  /// returns false, since silence is only noticed when nothing is left to take in.
  bool poll(std::uint64_t now_ns);
  /// What the last poll() found, until the next call of poll().
  [[nodiscard]] std::span<const Event> events() const { return events_; }
  /// When poll() finds that a sender was silent for too long.
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// The channel becomes readable when a batch has come to its end.
  void arm();

  [[nodiscard]] std::size_t under_way() const { return under_way_; }

 private:
  static constexpr int completions_per_poll_max = 32;
  static constexpr std::uint32_t receives_per_post_max = 32;

  struct Slot {
    explicit Slot(const Port& port) : queue_pair(port) {}

    ZeroCopyQueuePair queue_pair;
    bool is_taken = false;
    std::uint64_t transfers = 0;  // of this slot so far, this one with them
    std::uint64_t owner = 0;
    Destination destination{};
    std::uint32_t queue_key = 0;
    IncomingSegments segments;
  };

  Result<void> make_resources();
  Result<Slot*> take_slot();
  Result<ClearToSend> open_batch(Slot& slot, std::uint64_t now_ns);
  bool post_receives(Slot& slot, IncomingSegments::Batch batch);
  std::uint32_t post_some(Slot& slot, IncomingSegments::Batch batch);
  void on_completion(const ibv_wc& completion, std::uint64_t now_ns);
  void on_step(Slot& slot, IncomingSegments::Step step, std::uint64_t now_ns);
  void report(const Slot& slot, Event::Kind kind, const ClearToSend& clear = {});
  void abandon(Slot& slot);
  void free(Slot& slot);
  [[nodiscard]] std::uint64_t work_id(const Slot& slot) const;

  const Port& port_;
  const ZeroCopySettings settings_;
  ibv_comp_channel* const channel_;
  PortRegistrar registrar_;
  memory::BufferPool scratch_;
  memory::BufferPool::Buffer* route_ =
      nullptr;  // where the adapter leaves routes, which nobody reads
  CompletionQueue completions_;
  std::vector<Slot> slots_;
  std::size_t under_way_ = 0;
  std::vector<Event> events_;
};

}  // namespace hawser::transport::verbs
