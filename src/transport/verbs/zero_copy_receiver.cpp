#include "transport/verbs/zero_copy_receiver.hpp"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/assert.hpp"
#include "platform/file.hpp"

namespace hawser::transport::verbs {

namespace {

/// The id of a receive: which transfer of its slot it was posted for, and the slot. Completions of
/// transfers that are over may still be in the queue.
constexpr unsigned slot_bits = 16;
constexpr std::size_t slots_max = std::size_t{1} << slot_bits;

/// A key with the highest bit would stand for the sender's own (IBA §10.2.5).
std::uint32_t fresh_queue_key() {
  return static_cast<std::uint32_t>(platform::random_number()) & 0x7fff'ffffU;
}

}  // namespace

ZeroCopyReceiver::ZeroCopyReceiver(const Port& port, const ZeroCopySettings& settings,
                                   memory::Ledger& ledger, ibv_comp_channel* channel)
    : port_(port),
      settings_(settings),
      channel_(channel),
      registrar_(port, PortRegistrar::Reach::local),
      scratch_(registrar_, ledger,
               {.account = memory::Account::network_buffers,
                .buffer_bytes = global_route_bytes,
                .slab_buffers = 1,
                .slabs_max = 1}) {
  HAWSER_ASSERT(settings.queue_pairs_max <= slots_max && settings.receive_depth > 0);
  slots_.reserve(settings.queue_pairs_max);
}

ZeroCopyReceiver::~ZeroCopyReceiver() {
  slots_.clear();  // nothing is written any more
  if (route_ != nullptr) scratch_.give_back(route_);
}

Result<void> ZeroCopyReceiver::make_resources() {
  if (route_ == nullptr) {
    Result<memory::BufferPool::Buffer*> route = scratch_.take();
    if (!route) return route.take_error();
    route_ = *route;
  }
  if (completions_) return {};
  const std::uint32_t entries = settings_.queue_pairs_max * settings_.receive_depth;
  completions_.reset(
      ibv_create_cq(port_.context.get(), static_cast<int>(entries), nullptr, channel_, 0));
  if (!completions_) return refusal("a completion queue");
  return {};
}

/// A slot without a transfer, with a queue pair.
Result<ZeroCopyReceiver::Slot*> ZeroCopyReceiver::take_slot() {
  auto slot = std::ranges::find(slots_, false, &Slot::is_taken);
  if (slot == slots_.end()) {
    if (slots_.size() == settings_.queue_pairs_max)
      return Error(ErrorClass::no_mem,
                   fmt::format("all {} queue pairs for transfers without copies are in use",
                               settings_.queue_pairs_max));
    slot = slots_.emplace(slots_.end(), port_);
  }
  if (slot->queue_pair.exists()) return &*slot;
  HAWSER_TRY(make_resources());
  HAWSER_TRY(slot->queue_pair.make(completions_.get(), {.max_send_wr = 1,
                                                        .max_recv_wr = settings_.receive_depth,
                                                        .max_send_sge = 1,
                                                        .max_recv_sge = 2,
                                                        .max_inline_data = 0}));
  return &*slot;
}

Result<ClearToSend> ZeroCopyReceiver::begin(std::uint64_t owner, const Destination& destination,
                                            std::size_t segment_bytes, std::uint64_t now_ns) {
  HAWSER_ASSERT(!destination.memory.empty() && segment_bytes > 0 &&
                segment_bytes <= mtu_bytes(port_.mtu));
  if (destination.memory.size() > message_bytes_max(segment_bytes))
    return Error(ErrorClass::other,
                 fmt::format("{} bytes are too many for a transfer without copies: at most {}",
                             destination.memory.size(), message_bytes_max(segment_bytes)));
  const Result<Slot*> taken = take_slot();
  if (!taken) return Error(taken.error());
  Slot& slot = **taken;
  const std::uint32_t queue_key = fresh_queue_key();
  HAWSER_TRY(slot.queue_pair.open(queue_key));
  slot.is_taken = true;
  ++under_way_;
  ++slot.transfers;
  slot.owner = owner;
  slot.destination = destination;
  slot.queue_key = queue_key;
  slot.segments.start(static_cast<std::uint32_t>(slot.transfers % SegmentNumber::transfers),
                      {destination.memory.size(), segment_bytes}, settings_);
  return open_batch(slot, now_ns);
}

/// Without success there is no transfer any more.
Result<ClearToSend> ZeroCopyReceiver::open_batch(Slot& slot, std::uint64_t now_ns) {
  const IncomingSegments::Batch batch = slot.segments.open_batch(now_ns);
  if (!post_receives(slot, batch)) {
    Error error = refusal("receives");
    abandon(slot);
    return error;
  }
  return ClearToSend{.queue_pair = slot.queue_pair.get()->qp_num,
                     .queue_key = slot.queue_key,
                     .transfer = static_cast<std::uint16_t>(slot.segments.transfer()),
                     .segment_bytes = static_cast<std::uint16_t>(slot.segments.cut().segment_bytes),
                     .first_segment = batch.first,
                     .segments = batch.count};
}

bool ZeroCopyReceiver::post_receives(Slot& slot, IncomingSegments::Batch batch) {
  while (batch.count > 0) {
    const std::uint32_t posted = post_some(slot, batch);
    if (posted == 0) return false;
    batch.first += posted;
    batch.count -= posted;
  }
  return true;
}

/// How many receives were posted, of the first of BATCH; 0 if the adapter refuses one.
std::uint32_t ZeroCopyReceiver::post_some(Slot& slot, IncomingSegments::Batch batch) {
  constexpr std::size_t pieces_each = 2;
  std::array<ibv_recv_wr, receives_per_post_max> requests{};
  std::array<std::array<ibv_sge, pieces_each>, receives_per_post_max> pieces{};
  const std::uint32_t count = std::min(batch.count, receives_per_post_max);
  const Segmentation& cut = slot.segments.cut();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t segment = batch.first + i;
    std::byte* const memory = slot.destination.memory.data() + cut.offset_of(segment);
    pieces[i] = {{{.addr = reinterpret_cast<std::uint64_t>(route_->data()),
                   .length = global_route_bytes,
                   .lkey = PortRegistrar::local_key(route_->handle())},
                  {.addr = reinterpret_cast<std::uint64_t>(memory),
                   .length = static_cast<std::uint32_t>(cut.bytes_of(segment)),
                   .lkey = slot.destination.local_key}}};
    requests[i].wr_id = work_id(slot);
    requests[i].sg_list = pieces[i].data();
    requests[i].num_sge = pieces_each;
    requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
  }
  ibv_recv_wr* refused = nullptr;
  errno = ibv_post_recv(slot.queue_pair.get(), requests.data(), &refused);
  return errno == 0 ? count : 0;
}

std::uint64_t ZeroCopyReceiver::work_id(const Slot& slot) const {
  return slot.transfers << slot_bits | static_cast<std::uint64_t>(&slot - slots_.data());
}

bool ZeroCopyReceiver::poll(std::uint64_t now_ns) {
  events_.clear();
  if (under_way_ == 0) return false;
  std::array<ibv_wc, completions_per_poll_max> completions;
  const int count =
      std::max(ibv_poll_cq(completions_.get(), completions_per_poll_max, completions.data()), 0);
  for (const ibv_wc& completion : std::span(completions).first(static_cast<std::size_t>(count)))
    on_completion(completion, now_ns);
  // What is not taken in yet is not lost.
  if (count < completions_per_poll_max) {
    for (Slot& slot : slots_)
      if (slot.is_taken) on_step(slot, slot.segments.on_time(now_ns), now_ns);
  }
  return count > 0 || !events_.empty();
}

void ZeroCopyReceiver::on_completion(const ibv_wc& completion, std::uint64_t now_ns) {
  Slot& slot = slots_[completion.wr_id % slots_max];
  if (!slot.is_taken || completion.wr_id != work_id(slot)) return;
  const bool is_segment = completion.status == IBV_WC_SUCCESS &&
                          (completion.wc_flags & IBV_WC_WITH_IMM) != 0 &&
                          completion.byte_len >= global_route_bytes;
  on_step(slot,
          is_segment ? slot.segments.on_segment(be32toh(completion.imm_data),
                                                completion.byte_len - global_route_bytes, now_ns)
                     : IncomingSegments::Step::failed,
          now_ns);
}

void ZeroCopyReceiver::on_step(Slot& slot, IncomingSegments::Step step, std::uint64_t now_ns) {
  using Step = IncomingSegments::Step;
  switch (step) {
    case Step::wait:
      return;
    case Step::next_batch:
      if (const Result<ClearToSend> next = open_batch(slot, now_ns))
        return report(slot, Event::Kind::next_batch, *next);
      return report(slot, Event::Kind::failed);
    case Step::finished:
      free(slot);
      return report(slot, Event::Kind::finished);
    case Step::failed:
      abandon(slot);
      return report(slot, Event::Kind::failed);
  }
}

void ZeroCopyReceiver::report(const Slot& slot, Event::Kind kind, const ClearToSend& clear) {
  events_.push_back({kind, slot.owner, clear});
}

void ZeroCopyReceiver::abandon(Slot& slot) {
  slot.queue_pair.reset();
  free(slot);
}

void ZeroCopyReceiver::free(Slot& slot) {
  slot.is_taken = false;
  slot.destination = {};
  --under_way_;
}

void ZeroCopyReceiver::cancel(std::uint64_t owner) {
  for (Slot& slot : slots_)
    if (slot.is_taken && slot.owner == owner) abandon(slot);
}

std::uint64_t ZeroCopyReceiver::deadline_ns() const {
  std::uint64_t first = never_ns;
  for (const Slot& slot : slots_)
    if (slot.is_taken) first = std::min(first, slot.segments.deadline_ns());
  return first;
}

/// Each sender marks the last segment of a batch; a lost one is noticed by the time.
void ZeroCopyReceiver::arm() {
  if (completions_) ibv_req_notify_cq(completions_.get(), 1);
}

}  // namespace hawser::transport::verbs
