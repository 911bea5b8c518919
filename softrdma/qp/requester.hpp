// Requester: the half of a connected queue pair that sends work requests and waits for what comes
// of them (InfiniBand Architecture Specification, volume 1, §9.7 reliable, §9.8 unreliable).
//
// A state machine: it is given work, answers and the time; it gives out packets, one by one, and
// completions. Every packet that needs an answer has its place in the sequence; loss shows as a
// gap, a negative acknowledgement or silence, and is mended by going back to the oldest packet
// without answer ("go back N"). Answers to reads are taken in order only.
//
// Ownership: borrows queue, regions and listener. Threads: the adapter's lock.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/qp/context.hpp"
#include "softrdma/qp/direct.hpp"
#include "softrdma/queue/work.hpp"

namespace softrdma::qp {

/// What becomes of work.
class RequesterListener {
 public:
  virtual ~RequesterListener() = default;
  /// WORK is over, in the order of the queue.
  virtual void on_sent(const queue::SendWork& work, ibv_wc_status status) = 0;
  /// The work that was over last failed: nothing more is sent until start().
  virtual void on_send_failure() = 0;
  /// Does what concerns this adapter alone: LOCAL_INV, BIND_MW.
  virtual ibv_wc_status do_local(queue::SendWork& work) = 0;
  /// Carries COPY out at once. False, and nothing has happened that packets would not do again:
  /// packets have to do it.
  virtual bool copy_directly(const DirectCopy& /*copy*/) { return false; }
  /// After drain(): what had begun is over.
  virtual void on_drained() = 0;
};

class Requester {
 public:
  /// What may be counted, over all time.
  struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t repeated_packets = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t not_ready = 0;  // "receiver not ready" answers
    std::uint64_t notices = 0;    // of congestion, that were heeded

    Counters& operator+=(const Counters& other) {
      packets += other.packets;
      repeated_packets += other.repeated_packets;
      timeouts += other.timeouts;
      not_ready += other.not_ready;
      notices += other.notices;
      return *this;
    }
  };

  Requester(const Context& context, queue::SendQueue& queue, const memory::RegionTable& regions,
            RequesterListener& listener)
      : context_(context), queue_(queue), regions_(regions), listener_(listener) {}

  /// From now on packets are sent; the first has SEQUENCE.
  void start(std::uint32_t sequence);
  /// Work that has not begun waits until resume().
  void drain() { is_draining_ = true; }
  void resume() { is_draining_ = false; }
  /// No work has begun that is not over.
  [[nodiscard]] bool is_drained() const { return queue_.first() == begun_end_; }
  /// Nothing more is sent; everything in the queue is over, as flushed.
  void flush();
  /// Nothing more is sent until start(); the queue is empty.
  void forget() { is_running_ = false; }

  /// The next packet to send now; false if there is none.
  bool next(std::uint64_t now_ns, Outgoing* out);
  void on_answer(const wire::Packet& packet, std::uint64_t now_ns);
  /// The network has too much to carry of ours: half as much from now on.
  void on_congestion(std::uint64_t now_ns);
  void on_time(std::uint64_t now_ns);
  /// When on_time() has something to do, or next() has a packet again; nothing: not by itself.
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;

  [[nodiscard]] std::uint32_t next_sequence() const { return end_sequence_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  // What is sent
  [[nodiscard]] bool may_begin(const queue::SendWork& work) const;
  void begin(queue::SendWork& work);
  [[nodiscard]] bool may_copy_directly(const queue::SendWork& work) const;
  bool copy_directly(queue::SendWork& work);
  ibv_wc_status build(queue::SendWork& work, Outgoing* out);
  ibv_wc_status build_segment(queue::SendWork& work, Outgoing* out);
  void build_read(const queue::SendWork& work, Outgoing* out) const;
  [[nodiscard]] std::uint32_t packets_to_ask_for(const queue::SendWork& work) const;
  void build_atomic(const queue::SendWork& work, Outgoing* out) const;
  void pass(const queue::SendWork& work, std::uint32_t packets, std::uint64_t now_ns);
  void seek(std::uint32_t sequence);
  [[nodiscard]] std::uint32_t cursor_sequence() const;
  [[nodiscard]] std::uint32_t in_flight() const;
  void forget_questions();
  // What comes back
  void on_read_response(const wire::Packet& packet, std::uint64_t now_ns);
  void on_atomic_response(const wire::Packet& packet, std::uint64_t now_ns);
  void on_acknowledge(const wire::Headers& headers, std::uint64_t now_ns);
  void on_not_ready(std::uint8_t timer, std::uint64_t now_ns);
  bool answer_before(std::uint32_t sequence, std::uint64_t now_ns);
  [[nodiscard]] queue::SendWork* oldest_read();
  void take_read_packet(queue::SendWork& work, const wire::Payload& payload, std::uint64_t now_ns);
  void note_answered(std::uint32_t sequence, std::uint64_t now_ns);
  void note_progress(std::uint32_t packets, std::uint64_t now_ns);
  void repeat_once(std::uint64_t now_ns);
  void repeat(std::uint64_t now_ns);
  void shrink_window();
  // What is over
  void end_finished();
  void end_oldest(ibv_wc_status status);
  void fail(ibv_wc_status status);

  const Context& context_;
  queue::SendQueue& queue_;
  const memory::RegionTable& regions_;
  RequesterListener& listener_;

  bool is_running_ = false;
  bool is_draining_ = false;
  bool is_repeating_ = false;            // we went back, and nothing has been answered since
  std::uint64_t begun_end_ = 0;          // position: work before it has its sequence numbers
  std::uint64_t cursor_ = 0;             // position of the work whose packet is sent next,
  std::uint32_t cursor_packet_ = 0;      // and which of its packets
  std::uint32_t end_sequence_ = 0;       // of the next work to begin
  std::uint32_t sent_sequence_ = 0;      // of the first packet that was never sent
  std::uint32_t answered_sequence_ = 0;  // before it, everything is answered
  std::uint32_t reads_ = 0;              // begun reads and atomics that are not over
  /// Read and atomic requests on their way: where the answer of each ends; the oldest first.
  std::array<std::uint32_t, reads_limit> questions_{};
  std::size_t question_count_ = 0;
  std::uint32_t read_packets_ = 0;  // of the oldest of those, that have come
  std::uint32_t window_packets_ = 0;
  std::uint32_t answered_in_window_ = 0;  // since the window was last opened
  std::uint64_t slowed_ns_ = 0;           // when congestion last shrank it
  unsigned retries_ = 0;
  unsigned not_ready_retries_ = 0;
  std::uint64_t timer_ns_ = 0;   // when silence is too long
  std::uint64_t resume_ns_ = 0;  // nothing is sent before: the receiver was not ready
  Counters counters_;
};

}  // namespace softrdma::qp
