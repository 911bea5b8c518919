#include "transport/verbs/zero_copy_sender.hpp"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"

namespace hawser::transport::verbs {

namespace {

/// Nothing is received here, so no key has to be kept secret.
constexpr std::uint32_t senders_queue_key = 0;

}  // namespace

ZeroCopySender::ZeroCopySender(const Port& port, const ZeroCopySettings& settings,
                               ibv_comp_channel* channel)
    : port_(port),
      settings_(settings),
      segments_per_report_(std::max(settings.send_depth / 4, 1U)),
      channel_(channel),
      queue_pair_(port) {
  HAWSER_ASSERT(settings.send_depth > 0);
}

Result<void> ZeroCopySender::make_queues() {
  if (!completions_) {
    completions_.reset(ibv_create_cq(port_.context.get(), static_cast<int>(settings_.send_depth),
                                     nullptr, channel_, 0));
    if (!completions_) return refusal("a completion queue");
  }
  HAWSER_TRY(queue_pair_.make(completions_.get(), {.max_send_wr = settings_.send_depth,
                                                   .max_recv_wr = 1,
                                                   .max_send_sge = 1,
                                                   .max_recv_sge = 1,
                                                   .max_inline_data = 0}));
  return queue_pair_.open(senders_queue_key);
}

Result<void> ZeroCopySender::send(const Batch& batch) {
  const ClearToSend& clear = batch.clear;
  if (!clear.fits(batch.message.size(), mtu_bytes(port_.mtu)))
    return Error(
        ErrorClass::other,
        fmt::format("segments {} to {} of {} bytes, as the receiver wants them, are not in "
                    "a message of {} bytes",
                    clear.first_segment, std::uint64_t{clear.first_segment} + clear.segments,
                    clear.segment_bytes, batch.message.size()));
  if (under_way() >= settings_.batches_max)
    return Error(ErrorClass::no_mem,
                 fmt::format("{} batches wait to be sent without copies", under_way()));
  if (!queue_pair_.exists()) HAWSER_TRY(make_queues());
  waiting_.push_back({batch});
  post_waiting();
  return {};
}

std::uint32_t ZeroCopySender::room() const {
  return settings_.send_depth - static_cast<std::uint32_t>(posted_ - reported_);
}

void ZeroCopySender::post_waiting() {
  while (!waiting_.empty() && room() > 0) {
    Waiting& first = waiting_.front();
    if (!post_some(first)) {
      start_again();
    } else if (first.posted == first.batch.clear.segments) {
      leaving_.push_back({first.batch.owner, posted_});
      waiting_.pop_front();
    }
  }
}

/// False if the adapter refuses.
bool ZeroCopySender::post_some(Waiting& waiting) {
  std::array<ibv_send_wr, segments_per_post_max> requests{};
  std::array<ibv_sge, segments_per_post_max> pieces{};
  const Batch& batch = waiting.batch;
  const ClearToSend& clear = batch.clear;
  const Segmentation cut{batch.message.size(), clear.segment_bytes};
  const std::uint32_t left = clear.segments - waiting.posted;
  const std::uint32_t count = std::min({left, room(), segments_per_post_max});
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t segment = clear.first_segment + waiting.posted + i;
    const bool is_last = i + 1 == left;
    pieces[i] = {
        .addr = reinterpret_cast<std::uint64_t>(batch.message.data()) + cut.offset_of(segment),
        .length = static_cast<std::uint32_t>(cut.bytes_of(segment)),
        .lkey = batch.local_key};
    ibv_send_wr& request = requests[i];
    request.wr_id = posted_ + i + 1;
    request.sg_list = &pieces[i];
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND_WITH_IMM;
    const SegmentNumber number{clear.transfer, segment};
    request.imm_data = htobe32(number.bits());
    // The receiver may sleep until the batch is complete.
    if (is_last) request.send_flags |= IBV_SEND_SOLICITED;
    if (is_last || request.wr_id % segments_per_report_ == 0)
      request.send_flags |= IBV_SEND_SIGNALED;
    request.wr.ud = {
        .ah = batch.to, .remote_qpn = clear.queue_pair, .remote_qkey = clear.queue_key};
    request.next = i + 1 < count ? &requests[i + 1] : nullptr;
  }
  // Even if the adapter refuses some, so that a number never comes twice.
  posted_ += count;
  waiting.posted += count;
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(queue_pair_.get(), requests.data(), &refused) == 0;
}

bool ZeroCopySender::poll() {
  bool has_moved = false;
  if (under_way() > 0) {
    has_moved = take_in_reports();
    post_waiting();
  }
  events_.clear();
  std::swap(events_, found_);
  return has_moved || !events_.empty();
}

bool ZeroCopySender::take_in_reports() {
  std::array<ibv_wc, completions_per_poll_max> completions;
  const int count = ibv_poll_cq(completions_.get(), completions_per_poll_max, completions.data());
  if (count <= 0) return false;
  for (const ibv_wc& report : std::span(completions).first(static_cast<std::size_t>(count))) {
    // Of what was posted before the queue pair was reset: it is over.
    if (report.wr_id <= reported_) continue;
    if (report.status != IBV_WC_SUCCESS) {
      start_again();
      break;
    }
    take_in(report.wr_id);
  }
  return true;
}

/// All segments up to NUMBER have left: they do so in turn.
void ZeroCopySender::take_in(std::uint64_t number) {
  reported_ = std::max(reported_, number);
  for (; !leaving_.empty() && leaving_.front().last <= reported_; leaving_.pop_front())
    found_.push_back({Event::Kind::left, leaving_.front().owner});
}

/// After a failure: nothing is under way any more, and the next batch that waits is the first.
void ZeroCopySender::start_again() {
  queue_pair_.reset();
  reported_ = posted_;
  for (const Leaving& leaving : std::exchange(leaving_, {}))
    found_.push_back({Event::Kind::failed, leaving.owner});
  if (!waiting_.empty() && waiting_.front().posted > 0) drop_first();
  const bool can_go_on =
      queue_pair_.exists() ? queue_pair_.open(senders_queue_key).ok() : make_queues().ok();
  if (can_go_on) return;
  while (!waiting_.empty()) drop_first();
}

void ZeroCopySender::drop_first() {
  found_.push_back({Event::Kind::failed, waiting_.front().batch.owner});
  waiting_.pop_front();
}

void ZeroCopySender::arm() {
  if (completions_) ibv_req_notify_cq(completions_.get(), 0);
}

}  // namespace hawser::transport::verbs
