#include "softrdma/qp/requester.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "softrdma/qp/congestion.hpp"
#include "softrdma/qp/sequence.hpp"
#include "softrdma/qp/syndrome.hpp"

namespace softrdma::qp {

using queue::SendWork;
using wire::Kind;
using wire::Operation;

namespace {

constexpr std::uint32_t window_packets_min = 2;
constexpr unsigned retries_without_end = 7;  // of "receiver not ready"

bool is_local(const SendWork& work) {
  return work.opcode == IBV_WR_LOCAL_INV || work.opcode == IBV_WR_BIND_MW;
}
bool is_atomic(const SendWork& work) {
  return work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
/// Whether what it asks for comes back in packets of its own.
bool is_read(const SendWork& work) { return work.opcode == IBV_WR_RDMA_READ || is_atomic(work); }

bool is_write(const SendWork& work) {
  return work.opcode == IBV_WR_RDMA_WRITE || work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/// The operation of packet NUMBER of LAST + 1 of a send or write.
Operation operation_of(const SendWork& work, std::uint32_t number, std::uint32_t last) {
  const bool first = number == 0;
  if (number < last) {
    if (is_write(work)) return first ? Operation::write_first : Operation::write_middle;
    return first ? Operation::send_first : Operation::send_middle;
  }
  switch (work.opcode) {
    case IBV_WR_RDMA_WRITE:
      return first ? Operation::write_only : Operation::write_last;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return first ? Operation::write_only_immediate : Operation::write_last_immediate;
    case IBV_WR_SEND_WITH_IMM:
      return first ? Operation::send_only_immediate : Operation::send_last_immediate;
    case IBV_WR_SEND_WITH_INV:
      return first ? Operation::send_only_invalidate : Operation::send_last_invalidate;
    default:
      return first ? Operation::send_only : Operation::send_last;
  }
}

}  // namespace

void Requester::start(std::uint32_t sequence) {
  is_running_ = true;
  is_draining_ = false;
  is_repeating_ = false;
  begun_end_ = cursor_ = queue_.first();
  cursor_packet_ = 0;
  end_sequence_ = sent_sequence_ = answered_sequence_ = sequence & number_mask;
  reads_ = read_packets_ = 0;
  question_count_ = 0;
  window_packets_ = context_.window_packets;
  answered_in_window_ = 0;
  retries_ = context_.retry_count;
  not_ready_retries_ = context_.rnr_retry;
  timer_ns_ = resume_ns_ = 0;
}

void Requester::flush() {
  is_running_ = false;
  while (!queue_.is_empty()) end_oldest(IBV_WC_WR_FLUSH_ERR);
}

// What is sent

std::uint32_t Requester::cursor_sequence() const {
  return cursor_ == begun_end_ ? end_sequence_
                               : advance(queue_.at(cursor_).first_sequence, cursor_packet_);
}

std::uint32_t Requester::in_flight() const {
  return static_cast<std::uint32_t>(distance(cursor_sequence(), answered_sequence_));
}

bool Requester::may_begin(const SendWork& work) const {
  if (is_draining_) return false;
  return (work.flags & IBV_SEND_FENCE) == 0 || reads_ == 0;
}

void Requester::begin(SendWork& work) {
  work.first_sequence = end_sequence_;
  work.packets = 0;
  work.status = IBV_WC_SUCCESS;
  work.is_over = true;
  if (is_local(work)) {
    work.status = listener_.do_local(work);
  } else if (is_read(work) && context_.reads_max == 0) {
    work.status = IBV_WC_LOC_QP_OP_ERR;
  } else if (!copy_directly(work)) {
    work.is_over = false;
    work.packets = is_atomic(work) ? 1 : context_.packets_of(work.bytes);
    if (is_read(work)) ++reads_;
  }
  end_sequence_ = advance(end_sequence_, work.packets);
  ++begun_end_;
}

/// Nothing is on its way that it would overtake.
bool Requester::may_copy_directly(const SendWork& work) const {
  const bool can_be = work.opcode == IBV_WR_RDMA_WRITE || work.opcode == IBV_WR_RDMA_READ;
  return can_be && context_.service == wire::Service::reliable_connection && in_flight() == 0 &&
         cursor_ == queue_.first() && work.bytes != 0 && work.bytes <= direct_bytes_max;
}

bool Requester::copy_directly(SendWork& work) {
  if (!may_copy_directly(work)) return false;
  DirectCopy copy;
  copy.is_write = is_write(work);
  copy.remote = {work.remote_address, work.remote_key, work.bytes};
  if (work.is_inline) {
    copy.local.memory[copy.local.count++] = queue_.inline_data(work);
    return listener_.copy_directly(copy);
  }
  const unsigned rights = copy.is_write ? 0U : unsigned{IBV_ACCESS_LOCAL_WRITE};
  // What the local keys do not open fails in its packets.
  return memory::open_parts(context_.owner(regions_), queue_.entries(work), 0, work.bytes, rights,
                            &copy.local) == IBV_WC_SUCCESS &&
         listener_.copy_directly(copy);
}

bool Requester::next(std::uint64_t now_ns, Outgoing* out) {
  if (resume_ns_ > now_ns) return false;
  resume_ns_ = 0;
  while (is_running_ && in_flight() < window_packets_) {
    if (cursor_ == queue_.end()) return false;
    SendWork& work = queue_.at(cursor_);
    if (cursor_ == begun_end_) {
      if (!may_begin(work)) return false;
      begin(work);
    }
    if (!work.is_over) {
      if (is_read(work) && question_count_ >= context_.reads_max) return false;
      work.status = build(work, out);
      if (work.status == IBV_WC_SUCCESS) {
        pass(work, is_read(work) ? packets_to_ask_for(work) : 1, now_ns);
        return true;
      }
      work.is_over = true;
    }
    // Nothing goes past what has failed; it ends once everything before it has.
    const bool is_stuck = work.status != IBV_WC_SUCCESS;
    if (!is_stuck) {
      ++cursor_;
      cursor_packet_ = 0;
    }
    end_finished();
    if (is_stuck) return false;
  }
  return false;
}

ibv_wc_status Requester::build(SendWork& work, Outgoing* out) {
  out->payload.clear();
  out->headers = {};
  out->headers.opcode.service = context_.service;
  out->headers.partition_key = context_.partition_key;
  out->headers.destination_qp = context_.destination_qp;
  out->headers.sequence = advance(work.first_sequence, cursor_packet_);
  out->headers.receive_queue = work.receive_queue;
  if (!is_read(work)) return build_segment(work, out);
  out->headers.ack_request = true;
  if (is_atomic(work)) {
    build_atomic(work, out);
  } else {
    build_read(work, out);
  }
  return IBV_WC_SUCCESS;
}

ibv_wc_status Requester::build_segment(SendWork& work, Outgoing* out) {
  wire::Headers& headers = out->headers;
  const std::uint32_t last = work.packets - 1;
  const bool is_last = cursor_packet_ == last;
  const std::uint32_t acknowledged_every = std::max(context_.window_packets / 4, 1U);
  headers.opcode.operation = operation_of(work, cursor_packet_, last);
  // The one that fills the window, too: without an answer nothing goes on.
  const bool is_asking = is_last || (cursor_packet_ + 1) % acknowledged_every == 0 ||
                         in_flight() + 1 >= window_packets_;
  headers.ack_request = context_.is_reliable() && is_asking;
  headers.solicited = is_last && (work.flags & IBV_SEND_SOLICITED) != 0;
  headers.range = {work.remote_address, work.remote_key, work.bytes};
  headers.immediate = work.immediate;
  headers.invalidated_key = work.invalidate_key;

  const std::uint32_t offset = cursor_packet_ * context_.segment_bytes;
  const std::uint32_t bytes = std::min(work.bytes - offset, context_.segment_bytes);
  if (work.is_inline) {
    out->payload.add(queue_.inline_data(work).subspan(offset, bytes));
    return IBV_WC_SUCCESS;
  }
  return memory::gather(context_.owner(regions_), queue_.entries(work), offset, bytes,
                        &out->payload);
}

/// Up to the end of a part. Parts begin at the same packets however often they are asked for: to
/// the responder a request is old or new, never both.
std::uint32_t Requester::packets_to_ask_for(const SendWork& work) const {
  const std::uint32_t part = std::max(context_.window_packets / 2, 1U);
  return std::min(work.packets - cursor_packet_, part - cursor_packet_ % part);
}

void Requester::build_read(const SendWork& work, Outgoing* out) const {
  const std::uint64_t offset = std::uint64_t{cursor_packet_} * context_.segment_bytes;
  const std::uint64_t part = std::uint64_t{packets_to_ask_for(work)} * context_.segment_bytes;
  out->headers.opcode.operation = Operation::read_request;
  out->headers.range = {work.remote_address + offset, work.remote_key,
                        static_cast<std::uint32_t>(std::min(work.bytes - offset, part))};
}

void Requester::build_atomic(const SendWork& work, Outgoing* out) const {
  const bool adds = work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  out->headers.opcode.operation = adds ? Operation::fetch_add : Operation::compare_swap;
  out->headers.range = {work.remote_address, work.remote_key, sizeof(std::uint64_t)};
  out->headers.swap_or_add = adds ? work.compare_or_add : work.swap;
  out->headers.compare = adds ? 0 : work.compare_or_add;
}

/// The cursor goes past PACKETS of WORK, which are on their way now.
void Requester::pass(const SendWork& work, std::uint32_t packets, std::uint64_t now_ns) {
  ++counters_.packets;
  if (in_flight() == 0) timer_ns_ = now_ns + ack_timeout_ns(context_.timeout);
  if (is_read(work)) questions_[question_count_++] = advance(cursor_sequence(), packets);
  cursor_packet_ += packets;
  if (cursor_packet_ == work.packets) {
    ++cursor_;
    cursor_packet_ = 0;
  }
  if (is_before(sent_sequence_, cursor_sequence())) {
    sent_sequence_ = cursor_sequence();
  } else {
    ++counters_.repeated_packets;
  }
  if (context_.is_reliable()) return;
  answered_sequence_ = sent_sequence_;
  end_finished();
}

/// Those that are answered by now.
void Requester::forget_questions() {
  std::size_t answered = 0;
  while (answered < question_count_ && !is_before(answered_sequence_, questions_[answered]))
    ++answered;
  std::shift_left(questions_.begin(), questions_.end(), static_cast<std::ptrdiff_t>(answered));
  question_count_ -= answered;
}

/// The cursor goes to the packet of SEQUENCE, or to the end if that has not begun.
void Requester::seek(std::uint32_t sequence) {
  question_count_ = 0;
  cursor_packet_ = 0;
  for (cursor_ = queue_.first(); cursor_ < begun_end_; ++cursor_) {
    const SendWork& work = queue_.at(cursor_);
    const std::int32_t offset = distance(sequence, work.first_sequence);
    if (offset >= static_cast<std::int32_t>(work.packets)) continue;
    cursor_packet_ = static_cast<std::uint32_t>(std::max(offset, 0));
    return;
  }
}

// What comes back

void Requester::on_answer(const wire::Packet& packet, std::uint64_t now_ns) {
  const wire::Headers& headers = packet.headers;
  const bool was_sent = !is_before(headers.sequence, answered_sequence_) &&
                        is_before(headers.sequence, sent_sequence_);
  if (!is_running_ || !was_sent) return;
  if (packet.shape.kind == Kind::read_response) {
    on_read_response(packet, now_ns);
  } else if (packet.shape.atomic_ack_eth) {
    on_atomic_response(packet, now_ns);
  } else {
    on_acknowledge(headers, now_ns);
  }
}

void Requester::on_acknowledge(const wire::Headers& headers, std::uint64_t now_ns) {
  const std::uint8_t value = answer_value(headers.syndrome);
  switch (answer_type(headers.syndrome)) {
    case AnswerType::ack:
      answer_before(advance(headers.sequence, 1), now_ns);
      return;
    case AnswerType::receiver_not_ready:
      if (answer_before(headers.sequence, now_ns)) on_not_ready(value, now_ns);
      return;
    case AnswerType::nak:
      break;
  }
  // A negative answer is a positive one to everything before it.
  if (!answer_before(headers.sequence, now_ns)) return;
  switch (static_cast<NakCode>(value)) {
    case NakCode::sequence_error:
      repeat_once(now_ns);
      return;
    case NakCode::invalid_request:
      fail(IBV_WC_REM_INV_REQ_ERR);
      return;
    case NakCode::remote_access_error:
      fail(IBV_WC_REM_ACCESS_ERR);
      return;
    case NakCode::remote_operation_error:
      fail(IBV_WC_REM_OP_ERR);
      return;
  }
}

void Requester::on_not_ready(std::uint8_t timer, std::uint64_t now_ns) {
  if (resume_ns_ > now_ns) return;
  ++counters_.not_ready;
  if (context_.rnr_retry != retries_without_end && not_ready_retries_-- == 0) {
    fail(IBV_WC_RNR_RETRY_EXC_ERR);
    return;
  }
  seek(answered_sequence_);
  resume_ns_ = now_ns + rnr_wait_ns(timer);
}

/// The oldest read or atomic whose answer is not complete, or null.
SendWork* Requester::oldest_read() {
  if (reads_ == 0) return nullptr;
  for (std::uint64_t i = queue_.first(); i < begun_end_; ++i) {
    SendWork& work = queue_.at(i);
    if (is_read(work) && !work.is_over) return &work;
  }
  return nullptr;
}

/// Everything before SEQUENCE was received. False if the answer to a read among it is missing, or
/// if the requester has failed.
bool Requester::answer_before(std::uint32_t sequence, std::uint64_t now_ns) {
  bool is_complete = true;
  if (const SendWork* read = oldest_read(); read != nullptr) {
    const std::uint32_t missing = advance(read->first_sequence, read_packets_);
    if (is_before(missing, sequence)) {
      sequence = missing;
      is_complete = false;
    }
  }
  if (is_before(answered_sequence_, sequence)) note_answered(sequence, now_ns);
  if (!is_complete) repeat_once(now_ns);
  return is_complete && is_running_;
}

void Requester::on_read_response(const wire::Packet& packet, std::uint64_t now_ns) {
  SendWork* const work = oldest_read();
  if (work == nullptr || is_atomic(*work)) return;
  const std::uint32_t expected = advance(work->first_sequence, read_packets_);
  const std::int32_t gap = distance(packet.headers.sequence, expected);
  if (gap < 0) return;
  if (gap > 0) {
    repeat_once(now_ns);
    return;
  }
  if (answer_before(expected, now_ns)) take_read_packet(*work, packet.payload, now_ns);
}

void Requester::take_read_packet(SendWork& work, const wire::Payload& payload,
                                 std::uint64_t now_ns) {
  const std::uint32_t offset = read_packets_ * context_.segment_bytes;
  if (payload.size() != std::min(work.bytes - offset, context_.segment_bytes)) {
    fail(IBV_WC_BAD_RESP_ERR);
    return;
  }
  const std::optional<ibv_wc_status> status =
      memory::scatter(context_.owner(regions_), queue_.entries(work), offset, payload);
  if (!status) {
    repeat_once(now_ns);
    return;
  }
  if (*status != IBV_WC_SUCCESS) {
    fail(*status);
    return;
  }
  if (++read_packets_ == work.packets) {
    work.is_over = true;
    read_packets_ = 0;
    --reads_;
  }
  note_answered(advance(answered_sequence_, 1), now_ns);
}

void Requester::on_atomic_response(const wire::Packet& packet, std::uint64_t now_ns) {
  SendWork* const work = oldest_read();
  if (work == nullptr || !is_atomic(*work)) return;
  if (packet.headers.sequence != work->first_sequence) {
    repeat_once(now_ns);
    return;
  }
  if (!answer_before(work->first_sequence, now_ns)) return;
  std::array<std::byte, sizeof(std::uint64_t)> original;
  std::memcpy(original.data(), &packet.headers.original, original.size());
  const std::optional<ibv_wc_status> status =
      memory::scatter(context_.owner(regions_), queue_.entries(*work), 0, original);
  if (*status != IBV_WC_SUCCESS) {
    fail(*status);
    return;
  }
  work->is_over = true;
  --reads_;
  note_answered(advance(work->first_sequence, 1), now_ns);
}

/// Everything before SEQUENCE, which is later than what was before.
void Requester::note_answered(std::uint32_t sequence, std::uint64_t now_ns) {
  const auto packets = static_cast<std::uint32_t>(distance(sequence, answered_sequence_));
  answered_sequence_ = sequence;
  if (is_before(cursor_sequence(), sequence)) seek(sequence);
  note_progress(packets, now_ns);
  end_finished();
}

void Requester::note_progress(std::uint32_t packets, std::uint64_t now_ns) {
  if (question_count_ > 0) forget_questions();
  is_repeating_ = false;
  retries_ = context_.retry_count;
  not_ready_retries_ = context_.rnr_retry;
  timer_ns_ = now_ns + ack_timeout_ns(context_.timeout);
  answered_in_window_ += packets;
  if (answered_in_window_ < window_packets_) return;
  answered_in_window_ = 0;
  if (window_packets_ < context_.window_packets) ++window_packets_;
}

/// Goes back for one loss, of which several packets may tell.
void Requester::repeat_once(std::uint64_t now_ns) {
  if (is_running_ && !is_repeating_) repeat(now_ns);
}

void Requester::repeat(std::uint64_t now_ns) {
  if (retries_ == 0) {
    fail(IBV_WC_RETRY_EXC_ERR);
    return;
  }
  --retries_;
  is_repeating_ = true;
  shrink_window();
  timer_ns_ = now_ns + ack_timeout_ns(context_.timeout);
  seek(answered_sequence_);
}

void Requester::shrink_window() {
  window_packets_ = std::max(window_packets_ / 2, window_packets_min);
  answered_in_window_ = 0;
}

/// Several notices tell of the same queue in a switch.
void Requester::on_congestion(std::uint64_t now_ns) {
  if (!is_running_ || now_ns - slowed_ns_ < notice_interval_ns) return;
  slowed_ns_ = now_ns;
  ++counters_.notices;
  shrink_window();
}

std::optional<std::uint64_t> Requester::deadline_ns() const {
  if (!is_running_) return std::nullopt;
  if (resume_ns_ != 0) return resume_ns_;
  if (in_flight() == 0 || ack_timeout_ns(context_.timeout) == 0) return std::nullopt;
  return timer_ns_;
}

void Requester::on_time(std::uint64_t now_ns) {
  const std::optional<std::uint64_t> deadline = deadline_ns();
  if (!deadline || now_ns < *deadline) return;
  if (resume_ns_ != 0) {
    resume_ns_ = 0;
    return;
  }
  ++counters_.timeouts;
  repeat(now_ns);
}

// What is over

void Requester::end_finished() {
  while (is_running_ && queue_.first() < begun_end_) {
    const SendWork& work = queue_.front();
    if (work.is_over && work.status != IBV_WC_SUCCESS) {
      fail(work.status);
      return;
    }
    const bool is_answered =
        !is_read(work) &&
        !is_before(answered_sequence_, advance(work.first_sequence, work.packets));
    if (!work.is_over && !is_answered) return;
    end_oldest(IBV_WC_SUCCESS);
  }
}

void Requester::end_oldest(ibv_wc_status status) {
  // It leaves the queue first: where its completion is one too many, all that is left is flushed.
  const SendWork work = queue_.front();
  queue_.pop();
  begun_end_ = std::max(begun_end_, queue_.first());
  if (cursor_ < queue_.first()) {
    cursor_ = queue_.first();
    cursor_packet_ = 0;
  }
  listener_.on_sent(work, status);
  if (is_draining_ && is_drained()) listener_.on_drained();
}

/// The oldest work is over with an error, and so is sending.
void Requester::fail(ibv_wc_status status) {
  is_running_ = false;
  end_oldest(status);
  listener_.on_send_failure();
}

}  // namespace softrdma::qp
