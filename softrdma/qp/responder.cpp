#include "softrdma/qp/responder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "softrdma/memory/checked_copy.hpp"
#include "softrdma/qp/sequence.hpp"

namespace softrdma::qp {

using wire::Kind;
using wire::Operation;
using wire::Packet;

namespace {

/// Answers that wait beside reads: acknowledgements fall into one another.
constexpr std::size_t answers_beside_reads = 4;

/// The last eight bytes of a message go last, as one store where they are aligned and at hand: a
/// program that polls them finds all others in place. False: the payload is not there any more.
bool store(std::byte* memory, const wire::Payload& payload, bool is_last) {
  constexpr std::size_t tail_bytes = sizeof(std::uint64_t);
  const std::size_t bytes = payload.size();
  if (!is_last || bytes < tail_bytes) {
    const std::span<std::byte> whole(memory, bytes);
    return payload.read({&whole, 1});
  }
  const std::size_t body_bytes = bytes - tail_bytes;
  std::byte* const end = memory + body_bytes;
  const std::span<const std::byte> at_hand = payload.at_hand();
  if (at_hand.empty()) {
    // The parts are filled one after the other.
    const std::array<std::span<std::byte>, 2> parts{{{memory, body_bytes}, {end, tail_bytes}}};
    return payload.read(parts);
  }
  std::memcpy(memory, at_hand.data(), body_bytes);
  std::uint64_t tail;
  std::memcpy(&tail, at_hand.data() + body_bytes, tail_bytes);
  std::atomic_thread_fence(std::memory_order_release);
  if (reinterpret_cast<std::uintptr_t>(end) % tail_bytes == 0) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(end)).store(tail, std::memory_order_release);
  } else {
    std::memcpy(end, &tail, tail_bytes);
  }
  return true;
}

/// Returns the value before.
std::uint64_t change(std::byte* memory, const wire::Headers& headers) {
  std::atomic_ref value(*reinterpret_cast<std::uint64_t*>(memory));
  if (headers.opcode.operation == Operation::fetch_add) return value.fetch_add(headers.swap_or_add);
  std::uint64_t before = headers.compare;
  value.compare_exchange_strong(before, headers.swap_or_add);
  return before;
}

}  // namespace

void Responder::start(std::uint32_t sequence) {
  is_running_ = true;
  is_established_ = false;
  has_complained_ = false;
  doing_ = Doing::nothing;
  expected_ = sequence & number_mask;
  message_sequence_ = 0;
  has_receive_ = false;
  answers_.clear();
  results_.clear();
}

void Responder::stop() {
  is_running_ = false;
  doing_ = Doing::nothing;
  if (!has_receive_) return;
  has_receive_ = false;
  listener_.on_received(
      {.id = receive_id_, .receive_queue = receive_queue_, .status = IBV_WC_WR_FLUSH_ERR});
}

void Responder::forget() {
  is_running_ = false;
  has_receive_ = false;
  answers_.clear();
}

Responder::State Responder::save() const {
  State state{.is_running = is_running_,
              .is_established = is_established_,
              .has_complained = has_complained_,
              .doing = doing_,
              .expected = expected_,
              .message_sequence = message_sequence_,
              .result_count = static_cast<std::uint32_t>(results_.size())};
  std::ranges::copy(results_, state.results.begin());
  return state;
}

void Responder::load(const State& state) {
  is_running_ = state.is_running;
  is_established_ = state.is_established;
  has_complained_ = state.has_complained;
  doing_ = state.doing;
  expected_ = state.expected;
  message_sequence_ = state.message_sequence;
  const std::size_t count = std::min<std::size_t>(state.result_count, state.results.size());
  results_.assign(state.results.begin(),
                  state.results.begin() + static_cast<std::ptrdiff_t>(count));
}

void Responder::on_request(const Packet& packet) {
  if (!is_running_) return;
  ++counters_.requests;
  const std::int32_t ahead = distance(packet.headers.sequence, expected_);
  if (ahead == 0) {
    carry_out(packet);
  } else if (context_.is_reliable() && ahead < 0) {
    on_duplicate(packet);
  } else {
    on_gap(packet);
  }
}

void Responder::reject(const Packet& packet) {
  if (is_running_ && packet.headers.sequence == expected_)
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
}

// In their turn

void Responder::carry_out(const Packet& packet) {
  has_complained_ = false;
  if (!is_established_) {
    is_established_ = true;
    listener_.on_established();
  }
  // Without acknowledgements the last packets of a message may be lost, and nobody notices.
  if (!context_.is_reliable() && packet.shape.starts()) drop_message();
  if (!fits_sequence(packet)) {
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  switch (packet.shape.kind) {
    case Kind::send:
      on_send(packet);
      return;
    case Kind::write:
      on_write(packet);
      return;
    case Kind::read:
      on_read(packet);
      return;
    case Kind::atomic:
      on_atomic(packet);
      return;
    case Kind::read_response:
    case Kind::acknowledge:
    case Kind::congestion:
      return;
  }
}

/// Whether PACKET can follow what came before, and has the length that its place asks for.
bool Responder::fits_sequence(const Packet& packet) const {
  const wire::Shape& shape = packet.shape;
  const bool follows =
      doing_ == Doing::nothing
          ? shape.starts()
          : !shape.starts() && shape.kind == (doing_ == Doing::send ? Kind::send : Kind::write);
  if (!follows) return false;
  if (!shape.payload) return true;
  const std::size_t bytes = packet.payload.size();
  if (!shape.ends()) return bytes == context_.segment_bytes;
  const std::size_t bytes_min = shape.place == wire::Place::only ? 0 : 1;
  return bytes_min <= bytes && bytes <= context_.segment_bytes;
}

/// A receive for the message of PACKET, unless it has one. False: there is none.
bool Responder::take_receive(const Packet& packet) {
  if (has_receive_) return true;
  receive_queue_ = packet.headers.receive_queue;
  has_receive_ = receives_.take_receive(receive_queue_, &receive_id_, &entries_);
  if (!has_receive_) ask_to_wait();
  return has_receive_;
}

void Responder::on_send(const Packet& packet) {
  std::span<std::byte> header;
  if (packet.shape.starts()) {
    const bool has_place =
        tagged_ == nullptr ? take_receive(packet) : begin_tagged(packet, &header);
    if (!has_place) return;
    received_bytes_ = 0;
  }
  const std::optional<ibv_wc_status> status =
      memory::scatter(context_.owner(regions_), entries_, received_bytes_, packet.payload, header);
  if (!status) {
    ask_again(packet);
    return;
  }
  if (*status != IBV_WC_SUCCESS) {
    refuse_with_receive(
        *status == IBV_WC_LOC_LEN_ERR ? NakCode::invalid_request : NakCode::remote_operation_error,
        *status);
    return;
  }
  doing_ = Doing::send;
  received_bytes_ += packet.payload.size() - header.size();
  if (!header.empty() && !packet.shape.ends()) tell_of_match();
  if (packet.shape.ends()) {
    if (packet.shape.ieth && !listener_.invalidate(packet.headers.invalidated_key)) {
      refuse_with_receive(NakCode::remote_access_error, IBV_WC_LOC_ACCESS_ERR);
      return;
    }
    end_message(packet, IBV_WC_RECV, static_cast<std::uint32_t>(received_bytes_));
  }
  finish_request(packet, 1);
}

memory::Opened Responder::open(const wire::RemoteRange& range, unsigned right,
                               std::uint32_t domain) const {
  if ((context_.access & right) == 0) return {nullptr, memory::Refusal::missing_right};
  if (range.bytes == 0) return {};
  return regions_.open(range.key, range.address, range.bytes, {domain, context_.number, right});
}

void Responder::on_write(const Packet& packet) {
  const std::size_t bytes = packet.payload.size();
  const bool ends = packet.shape.ends();
  wire::RemoteRange rest = packet.shape.starts() ? packet.headers.range : write_;
  if (packet.shape.starts()) write_bytes_ = rest.bytes;
  if (ends ? bytes != rest.bytes : bytes >= rest.bytes) {
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  const memory::Opened opened = open(rest, IBV_ACCESS_REMOTE_WRITE);
  if (!opened.ok()) {
    refuse(NakCode::remote_access_error, IBV_EVENT_QP_ACCESS_ERR);
    return;
  }
  if (packet.shape.immediate && !take_receive(packet)) return;

  if (!store(opened.memory, packet.payload, ends)) {
    ask_again(packet);
    return;
  }
  doing_ = Doing::write;
  write_ = {rest.address + bytes, rest.key, static_cast<std::uint32_t>(rest.bytes - bytes)};
  if (packet.shape.immediate) end_message(packet, IBV_WC_RECV_RDMA_WITH_IMM, write_bytes_);
  finish_request(packet, 1);
}

void Responder::end_message(const Packet& packet, ibv_wc_opcode opcode, std::uint32_t bytes) {
  unsigned flags = 0;
  if (packet.shape.immediate) flags |= IBV_WC_WITH_IMM;
  if (packet.shape.ieth) flags |= IBV_WC_WITH_INV;
  has_receive_ = false;
  const bool is_tagged = tagged_ != nullptr && opcode == IBV_WC_RECV;
  Received received = is_tagged ? tagged_completion(tagged_->flags) : Received{.opcode = opcode};
  received.id = receive_id_;
  received.receive_queue = receive_queue_;
  received.bytes = bytes;
  received.flags |= flags;
  received.immediate = packet.headers.immediate;
  received.invalidated_key = packet.headers.invalidated_key;
  received.solicited = packet.headers.solicited;
  listener_.on_received(received);
}

std::size_t Responder::reads_waiting() const {
  return static_cast<std::size_t>(std::ranges::count_if(answers_, [](const Answer& answer) {
    return answer.kind != AnswerKind::acknowledge && !answer.is_repeated;
  }));
}

void Responder::on_read(const Packet& packet) {
  const wire::Headers& headers = packet.headers;
  if (reads_waiting() >= context_.incoming_reads_max) {
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  if (!open(headers.range, IBV_ACCESS_REMOTE_READ).ok()) {
    refuse(NakCode::remote_access_error, IBV_EVENT_QP_ACCESS_ERR);
    return;
  }
  finish_request(packet, context_.packets_of(headers.range.bytes));
  answer_read(headers, false);
}

void Responder::on_atomic(const Packet& packet) {
  const wire::Headers& headers = packet.headers;
  const bool is_aligned = headers.range.address % sizeof(std::uint64_t) == 0;
  if (!is_aligned || reads_waiting() >= context_.incoming_reads_max) {
    refuse(NakCode::invalid_request, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  const memory::Opened opened = open(headers.range, IBV_ACCESS_REMOTE_ATOMIC);
  const bool lies_aligned =
      reinterpret_cast<std::uintptr_t>(opened.memory) % sizeof(std::uint64_t) == 0;
  if (!opened.ok() || !lies_aligned) {
    refuse(NakCode::remote_access_error, IBV_EVENT_QP_ACCESS_ERR);
    return;
  }
  const std::uint64_t original = change(opened.memory, headers);
  if (results_.size() >= context_.incoming_reads_max) results_.erase(results_.begin());
  results_.push_back({headers.sequence, original});
  finish_request(packet, 1);
  answer_atomic({headers.sequence, original}, false);
}

void Responder::finish_request(const Packet& packet, std::uint32_t packets) {
  expected_ = advance(expected_, packets);
  if (packet.shape.ends()) {
    doing_ = Doing::nothing;
    message_sequence_ = advance(message_sequence_, 1);
  }
  const bool has_answer_of_its_own =
      packet.shape.kind == Kind::read || packet.shape.kind == Kind::atomic;
  if (packet.headers.ack_request && !has_answer_of_its_own)
    acknowledge(packet.headers.sequence, ack_syndrome());
}

// Out of their turn

void Responder::on_duplicate(const Packet& packet) {
  ++counters_.duplicates;
  const wire::Headers& headers = packet.headers;
  const bool is_full = answers_.size() >= context_.incoming_reads_max + answers_beside_reads;
  switch (packet.shape.kind) {
    case Kind::send:
    case Kind::write:
      acknowledge(advance(expected_, number_mask), ack_syndrome());
      return;
    case Kind::read: {
      // Asked again, it need not be answered twice.
      const std::uint32_t end = advance(headers.sequence, context_.packets_of(headers.range.bytes));
      std::erase_if(answers_, [&](const Answer& answer) {
        return answer.kind == AnswerKind::read && is_before(answer.sequence, end) &&
               !is_before(answer.sequence, headers.sequence);
      });
      if (is_full || !open(headers.range, IBV_ACCESS_REMOTE_READ).ok()) return;
      answer_read(headers, true);
      return;
    }
    case Kind::atomic: {
      const auto found = std::ranges::find(results_, headers.sequence, &Result::sequence);
      if (is_full || found == results_.end()) return;
      answer_atomic(*found, true);
      return;
    }
    case Kind::read_response:
    case Kind::acknowledge:
    case Kind::congestion:
      return;
  }
}

void Responder::on_gap(const Packet& packet) {
  ++counters_.gaps;
  if (context_.is_reliable()) {
    if (!has_complained_) acknowledge(expected_, nak_syndrome(NakCode::sequence_error));
    has_complained_ = true;
    return;
  }
  // The message that lost a packet is lost, and its receive waits for the next.
  drop_message();
  expected_ = packet.headers.sequence;
  if (packet.shape.starts()) {
    carry_out(packet);
  } else {
    expected_ = advance(expected_, 1);
  }
}

/// The payload of PACKET, whose turn it is, was not there any more: it counts as lost.
void Responder::ask_again(const Packet& packet) {
  if (context_.is_reliable()) {
    on_gap(packet);
    return;
  }
  drop_message();
  expected_ = advance(expected_, 1);
}

void Responder::drop_message() {
  doing_ = Doing::nothing;
  received_bytes_ = 0;
}

/// Nothing is there to receive the message of the request whose turn it is.
void Responder::ask_to_wait() {
  ++counters_.not_ready;
  if (context_.is_reliable()) {
    acknowledge(expected_, syndrome(AnswerType::receiver_not_ready, context_.min_rnr_timer));
    has_complained_ = true;
    return;
  }
  drop_message();
  expected_ = advance(expected_, 1);
}

void Responder::refuse(NakCode code, std::optional<ibv_event_type> event) {
  if (!context_.is_reliable()) {
    // Nobody hears of it; the next message starts anew.
    drop_message();
    expected_ = advance(expected_, 1);
    return;
  }
  acknowledge(expected_, nak_syndrome(code));
  is_running_ = false;
  listener_.on_receive_failure(event);
}

/// What is wrong is the receive that the message got.
void Responder::refuse_with_receive(NakCode code, ibv_wc_status status) {
  if (context_.is_reliable()) acknowledge(expected_, nak_syndrome(code));
  is_running_ = false;
  has_receive_ = false;
  listener_.on_received({.id = receive_id_, .receive_queue = receive_queue_, .status = status});
  listener_.on_receive_failure(std::nullopt);
}

// Answers

void Responder::answer_read(const wire::Headers& request, bool is_repeated) {
  answers_.push_back({.kind = AnswerKind::read,
                      .syndrome = ack_syndrome(),
                      .sequence = request.sequence,
                      .message_sequence = message_sequence_,
                      .range = request.range,
                      .is_repeated = is_repeated,
                      .domain = context_.domain});
}

void Responder::answer_atomic(const Result& result, bool is_repeated) {
  answers_.push_back({.kind = AnswerKind::atomic,
                      .syndrome = ack_syndrome(),
                      .sequence = result.sequence,
                      .message_sequence = message_sequence_,
                      .range = {},
                      .is_repeated = is_repeated,
                      .original = result.original});
}

/// An acknowledgement speaks for all before it, and takes their place.
void Responder::acknowledge(std::uint32_t sequence, std::uint8_t syndrome) {
  const Answer answer{.kind = AnswerKind::acknowledge,
                      .syndrome = syndrome,
                      .sequence = sequence,
                      .message_sequence = message_sequence_,
                      .range = {}};
  if (!answers_.empty() && answers_.back().kind == AnswerKind::acknowledge) {
    answers_.back() = answer;
  } else {
    answers_.push_back(answer);
  }
}

bool Responder::next(Outgoing* out) {
  if (answers_.empty()) return false;
  Answer& answer = answers_.front();
  out->payload.clear();
  out->is_copy = false;
  out->headers = {};
  wire::Headers& headers = out->headers;
  headers.opcode.service = context_.service;
  headers.partition_key = context_.partition_key;
  headers.destination_qp = context_.destination_qp;
  headers.sequence = answer.sequence;
  headers.syndrome = answer.syndrome;
  headers.message_sequence = answer.message_sequence;
  headers.original = answer.original;
  if (answer.kind == AnswerKind::read) return build_read_packet(answer, out);
  headers.opcode.operation =
      answer.kind == AnswerKind::atomic ? Operation::atomic_acknowledge : Operation::acknowledge;
  answers_.erase(answers_.begin());
  return true;
}

bool Responder::build_read_packet(Answer& answer, Outgoing* out) {
  const std::uint32_t bytes = std::min(answer.range.bytes, context_.segment_bytes);
  const bool is_last = bytes == answer.range.bytes;
  // The key may have been taken back since the request.
  const memory::Opened opened = open(answer.range, IBV_ACCESS_REMOTE_READ, answer.domain);
  if (!opened.ok()) {
    out->headers.opcode.operation = Operation::acknowledge;
    out->headers.syndrome = nak_syndrome(NakCode::remote_access_error);
    answers_.clear();
    is_running_ = false;
    listener_.on_receive_failure(IBV_EVENT_QP_ACCESS_ERR);
    return true;
  }
  if (answer.has_begun) {
    out->headers.opcode.operation =
        is_last ? Operation::read_response_last : Operation::read_response_middle;
  } else {
    out->headers.opcode.operation =
        is_last ? Operation::read_response_only : Operation::read_response_first;
  }
  if (!answer.is_repeated) {
    out->payload.add({opened.memory, bytes});
  } else if (!copy_again({opened.memory, bytes}, out)) {
    answers_.erase(answers_.begin());
    return next(out);
  }
  answer.has_begun = true;
  answer.sequence = advance(answer.sequence, 1);
  answer.range.address += bytes;
  answer.range.bytes -= bytes;
  if (is_last) answers_.erase(answers_.begin());
  return true;
}

/// False: the memory is gone.
bool Responder::copy_again(std::span<const std::byte> from, Outgoing* out) {
  copy_.resize(from.size());
  if (!memory::copy_if_mapped(copy_, from)) return false;
  out->payload.add(copy_);
  out->is_copy = true;
  return true;
}

}  // namespace softrdma::qp
