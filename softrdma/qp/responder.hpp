// Responder: the half of a connected queue pair that does what the peer asks (InfiniBand
// Architecture Specification, volume 1, §9.7 reliable, §9.8 unreliable).
//
// A state machine: it is given requests in any order and state, carries out those whose turn it is,
// and gives out answers one by one, in the order of the requests. Requests that were carried out
// already are answered again and, but for reads, not carried out again. The peer may have had its
// read long ago, and the program may have given back the memory meanwhile, whose registration
// stands: such an answer is copied by the kernel, and not given if there is nothing to copy.
//
// Ownership: borrows regions, receives and listener. Threads: the adapter's lock.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "softrdma/qp/context.hpp"
#include "softrdma/qp/receive.hpp"
#include "softrdma/qp/syndrome.hpp"
#include "softrdma/queue/tag_matcher.hpp"
#include "softrdma/queue/work.hpp"

namespace softrdma::qp {

class Responder {
 public:
  struct Counters {
    std::uint64_t requests = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t gaps = 0;  // requests that came too early
    std::uint64_t not_ready = 0;
  };

  /// The result of an atomic, should it be asked for again.
  struct Result {
    std::uint32_t sequence;
    std::uint64_t original;
  };
  enum class Doing : std::uint8_t { nothing, send, write };
  /// What the next request is judged by, if it is not in the middle of a message; plain bytes.
  struct State {
    bool is_running = false;
    bool is_established = false;
    bool has_complained = false;
    Doing doing = Doing::nothing;
    std::uint32_t expected = 0;
    std::uint32_t message_sequence = 0;
    std::uint32_t result_count = 0;
    std::array<Result, reads_limit> results{};
  };

  /// TAGS: of a queue pair whose messages have tags; else null.
  Responder(const Context& context, const memory::RegionTable& regions, ReceiveSource& receives,
            ResponderListener& listener, queue::TagMatcher* tags = nullptr)
      : context_(context),
        regions_(regions),
        receives_(receives),
        listener_(listener),
        tagged_(tags == nullptr ? nullptr : std::make_unique<Tagged>(*tags)) {}

  /// The first request has SEQUENCE.
  void start(std::uint32_t sequence);
  /// Nothing more is done. A message that has begun is over, as flushed.
  void stop();
  /// Nothing more is done or answered until start(), and nobody is told.
  void forget();

  /// For another one to go on, in another process.
  [[nodiscard]] State save() const;
  void load(const State& state);

  void on_request(const wire::Packet& packet);
  /// It names something that does not exist: refused if it is its turn.
  void reject(const wire::Packet& packet);
  /// The next answer; false if there is none.
  bool next(Outgoing* out);
  [[nodiscard]] bool has_answers() const { return !answers_.empty(); }
  [[nodiscard]] std::uint32_t expected_sequence() const { return expected_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  enum class AnswerKind : std::uint8_t { acknowledge, read, atomic };
  struct Answer {
    AnswerKind kind;
    std::uint8_t syndrome;
    std::uint32_t sequence;
    std::uint32_t message_sequence;
    wire::RemoteRange range;     // read: what is left of it
    bool has_begun = false;      // read: its first packet is out
    bool is_repeated = false;    // it was given before
    std::uint32_t domain = 0;    // read: of protection, when it was asked
    std::uint64_t original = 0;  // atomic
  };
  /// What a message with a tag is, from its first packet to its last.
  struct Tagged {
    explicit Tagged(queue::TagMatcher& tags) : matcher(tags) {}
    queue::TagMatcher& matcher;
    wire::TagHeader header;
    /// Where the header goes when it comes with the data: the one that was matched stays as it was.
    std::array<std::byte, wire::tag_header_bytes> header_again;
    // Of the message's last completion
    ibv_wc_opcode opcode = IBV_WC_TM_RECV;
    unsigned flags = 0;  // ibv_wc_flags of tag matching

    [[nodiscard]] bool is_matched() const { return (flags & IBV_WC_TM_DATA_VALID) != 0; }
  };

  // In their turn
  void carry_out(const wire::Packet& packet);
  [[nodiscard]] bool fits_sequence(const wire::Packet& packet) const;
  void on_send(const wire::Packet& packet);
  void on_write(const wire::Packet& packet);
  void on_read(const wire::Packet& packet);
  void on_atomic(const wire::Packet& packet);
  bool take_receive(const wire::Packet& packet);
  // With tags (tagged_receive.cpp)
  bool begin_tagged(const wire::Packet& packet, std::span<std::byte>* header);
  bool read_tag_header(const wire::Packet& packet);
  bool find_place(const wire::Packet& packet);
  [[nodiscard]] bool is_rendezvous(const wire::Packet& packet) const;
  void take_rendezvous(const wire::Packet& packet);
  [[nodiscard]] bool can_transfer() const;
  [[nodiscard]] Received tagged_completion(unsigned flags) const;
  void tell_of_match();
  bool begin_write(const wire::Packet& packet);
  void end_message(const wire::Packet& packet, ibv_wc_opcode opcode, std::uint32_t bytes);
  void finish_request(const wire::Packet& packet, std::uint32_t packets);
  [[nodiscard]] memory::Opened open(const wire::RemoteRange& range, unsigned right) const {
    return open(range, right, context_.domain);
  }
  [[nodiscard]] memory::Opened open(const wire::RemoteRange& range, unsigned right,
                                    std::uint32_t domain) const;
  [[nodiscard]] std::size_t reads_waiting() const;
  // Out of their turn
  void on_duplicate(const wire::Packet& packet);
  void on_gap(const wire::Packet& packet);
  void ask_again(const wire::Packet& packet);
  void refuse(NakCode code, std::optional<ibv_event_type> event);
  void refuse_with_receive(NakCode code, ibv_wc_status status);
  void ask_to_wait();
  void drop_message();
  // Answers
  void answer_read(const wire::Headers& request, bool is_repeated);
  void answer_atomic(const Result& result, bool is_repeated);
  void acknowledge(std::uint32_t sequence, std::uint8_t syndrome);
  bool build_read_packet(Answer& answer, Outgoing* out);
  bool copy_again(std::span<const std::byte> from, Outgoing* out);

  const Context& context_;
  const memory::RegionTable& regions_;
  ReceiveSource& receives_;
  ResponderListener& listener_;

  bool is_running_ = false;
  bool is_established_ = false;
  bool has_complained_ = false;  // of a gap, or of the lack of a receive; once is enough
  Doing doing_ = Doing::nothing;
  std::uint32_t expected_ = 0;  // sequence number of the next request
  std::uint32_t message_sequence_ = 0;
  // The message that is coming in
  bool has_receive_ = false;
  std::uint64_t receive_id_ = 0;
  std::uint32_t receive_queue_ = 0;
  std::vector<ibv_sge> entries_;
  std::uint64_t received_bytes_ = 0;
  wire::RemoteRange write_;  // what is left of it
  std::uint32_t write_bytes_ = 0;
  std::unique_ptr<Tagged> tagged_;  // null without tags

  std::vector<Answer> answers_;  // the oldest first; at most answers_max()
  std::vector<Result> results_;  // the oldest first; at most incoming_reads_max
  std::vector<std::byte> copy_;  // the payload of the last answer that was given again
  Counters counters_;
};

}  // namespace softrdma::qp
