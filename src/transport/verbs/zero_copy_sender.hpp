// ZeroCopySender: batches of segments, each by a datagram straight from the user's memory, to
// whoever has cleared the way for them (ZeroCopyReceiver).
//
// One queue pair serves all peers. Batches leave in turn, each as a whole before the next one. A
// batch has left when the adapter reads its memory no more; whether it has come, its receiver
// tells.
// Ownership: owns queue pair and completion queue; borrows the port, the completion channel (null:
//            nobody sleeps), and of each batch the memory and the address handle, until the batch
//            is reported.
// Threads:   the lane lock.
// Bounds:    the batches that wait or are under way, the segments under way. Both queues are made
//            when they are needed.
// Errors:    a batch that the adapter refuses is reported as failed, and with it all that were
//            under way: the queue pair is reset first, so that the memory is the user's again.
//            Their receivers notice that segments are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "transport/verbs/port.hpp"
#include "transport/verbs/zero_copy_queue_pair.hpp"
#include "transport/verbs/zero_copy_segments.hpp"

namespace hawser::transport::verbs {

class ZeroCopySender {
 public:
  struct Batch {
    std::uint64_t owner;  // the caller's name of it
    ClearToSend clear;
    ibv_ah* to;
    std::span<const std::byte> message;  // the whole message, of which this is a batch
    std::uint32_t local_key;             // opens it to the adapter, for reading
  };
  struct Event {
    enum class Kind : std::uint8_t { left, failed };
    Kind kind;
    std::uint64_t owner;
  };

  ZeroCopySender(const Port& port, const ZeroCopySettings& settings, ibv_comp_channel* channel);
  ZeroCopySender(const ZeroCopySender&) = delete;
  ZeroCopySender& operator=(const ZeroCopySender&) = delete;

  /// Sends BATCH, now or in its turn; poll() reports its end.
  /// MPI_ERR_NO_MEM: too many batches wait; any other error: the batch is not one of this message,
  /// or the adapter refuses a queue pair.
  Result<void> send(const Batch& batch);

  /// Goes on with what waits; true if there was anything to do.
  bool poll();
  /// What the last poll() found, until the next call of poll().
  [[nodiscard]] std::span<const Event> events() const { return events_; }
  /// The channel becomes readable when something under way has left.
  void arm();

  /// Batches that wait or are under way.
  [[nodiscard]] std::size_t under_way() const { return waiting_.size() + leaving_.size(); }

 private:
  static constexpr int completions_per_poll_max = 16;
  static constexpr std::uint32_t segments_per_post_max = 32;

  struct Waiting {
    Batch batch;
    std::uint32_t posted = 0;  // segments of it
  };
  struct Leaving {
    std::uint64_t owner;
    std::uint64_t last;  // number of its last segment
  };

  Result<void> make_queues();
  [[nodiscard]] std::uint32_t room() const;
  void post_waiting();
  bool post_some(Waiting& waiting);
  bool take_in_reports();
  void take_in(std::uint64_t number);
  void start_again();
  void drop_first();

  const Port& port_;
  const ZeroCopySettings settings_;
  const std::uint64_t segments_per_report_;
  ibv_comp_channel* const channel_;
  CompletionQueue completions_;
  ZeroCopyQueuePair queue_pair_;
  std::deque<Waiting> waiting_;  // the first may be posted in part
  std::deque<Leaving> leaving_;  // posted as a whole
  std::uint64_t posted_ = 0;     // segments so far; their numbers begin with 1
  std::uint64_t reported_ = 0;   // of those whose end we know
  std::vector<Event> found_;     // since the last poll()
  std::vector<Event> events_;
};

}  // namespace hawser::transport::verbs
