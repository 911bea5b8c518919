// Completion queues, their channels, and the ways to poll.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/clock.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

constexpr unsigned known_flags = unsigned{IBV_WC_STANDARD_FLAGS} |
                                 unsigned{IBV_WC_EX_WITH_TM_INFO} |
                                 unsigned{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP} |
                                 unsigned{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};

CompletionQueue& queue_of(ibv_cq_ex* cq) { return object_of<CompletionQueue>(cq); }
const queue::Completion& current_of(ibv_cq_ex* cq) { return queue_of(cq).current; }

/// The next completion; drives the device if there is none.
bool take(CompletionQueue& cq, queue::Completion* out) {
  if (cq.completions.is_empty()) cq.context->adapter->drive();
  if (cq.completions.is_empty()) return false;
  *out = cq.completions.front();
  cq.completions.pop();
  return true;
}

// Extended polling. No lock is held in between: the current completion is a copy.

int take_current(ibv_cq_ex* cq) {
  CompletionQueue& object = queue_of(cq);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  const bool found = take(object, &object.current);
  const bool should_yield = adapter.note_poll(found);
  lock.unlock();
  if (should_yield) hawser::platform::yield_cpu();
  if (!found) return ENOENT;
  cq->status = object.current.wc.status;
  cq->wr_id = object.current.wc.wr_id;
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  return attributes != nullptr && attributes->comp_mask != 0 ? EINVAL : take_current(cq);
}

void fill_extended(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = take_current;
  cq.end_poll = [](ibv_cq_ex*) {};
  cq.read_opcode = [](ibv_cq_ex* from) { return current_of(from).wc.opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* from) { return current_of(from).wc.vendor_err; };
  cq.read_byte_len = [](ibv_cq_ex* from) { return current_of(from).wc.byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* from) -> __be32 { return current_of(from).wc.imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* from) { return current_of(from).wc.qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* from) { return current_of(from).wc.src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* from) { return current_of(from).wc.wc_flags; };
  cq.read_slid = [](ibv_cq_ex* from) -> std::uint32_t { return current_of(from).wc.slid; };
  cq.read_sl = [](ibv_cq_ex* from) { return current_of(from).wc.sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex* from) { return current_of(from).wc.dlid_path_bits; };
  cq.read_completion_ts = [](ibv_cq_ex* from) { return current_of(from).time_ns; };
  cq.read_tm_info = [](ibv_cq_ex* from, ibv_wc_tm_info* out) { *out = current_of(from).tag; };
  cq.read_completion_wallclock_ns = [](ibv_cq_ex* from) {
    const Adapter& adapter = *queue_of(from).context->adapter;
    return adapter.wall_ns() - (adapter.now_ns() - current_of(from).time_ns);
  };
}

CompletionQueue* create(ibv_context* context, std::uint32_t entries, void* cq_context,
                        ibv_comp_channel* channel, std::uint32_t vector) {
  if (is_lost()) return refuse(ENODEV);
  if (entries == 0 || entries > std::uint32_t{completions_max} ||
      vector >= static_cast<std::uint32_t>(context->num_comp_vectors))
    return refuse(EINVAL);
  auto cq = std::make_unique<CompletionQueue>(entries);
  cq->context = &Context::of(context);
  cq->channel = channel == nullptr ? nullptr : &object_of<Channel>(channel);
  ibv_cq_ex& visible = cq->handle.visible;
  visible.context = context;
  visible.channel = channel;
  visible.cq_context = cq_context;
  visible.cqe = static_cast<int>(entries);
  ::pthread_mutex_init(&visible.mutex, nullptr);
  ::pthread_cond_init(&visible.cond, nullptr);
  fill_extended(visible);
  cq->handle.object = cq.get();
  const auto lock = cq->context->adapter->lock();
  if (channel != nullptr) ++channel->refcnt;
  return cq.release();
}

}  // namespace

void CompletionQueue::arm(bool solicited_only) {
  context->adapter->note_arming(completions.is_armed());
  completions.arm(solicited_only);
}

CompletionQueue::~CompletionQueue() {
  if (completions.is_armed()) context->adapter->note_disarmed();
}

void CompletionQueue::on_completion_event() {
  context->adapter->note_disarmed();
  if (channel == nullptr) return;
  channel->events.push(this);
}

void CompletionQueue::on_overrun() {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_CQ_ERR;
  event.element.cq = ibv_cq_ex_to_cq(&handle.visible);
  context->events.push(event);
}

int poll_cq(ibv_cq* cq, int entries, ibv_wc* completions) {
  if (is_lost()) return -1;
  auto& object = object_of<CompletionQueue>(cq);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  int count = 0;
  for (queue::Completion next; count < entries && take(object, &next); ++count)
    completions[count] = next.wc;
  const bool should_yield = adapter.note_poll(count > 0);
  lock.unlock();
  if (should_yield) hawser::platform::yield_cpu();
  return count;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  auto& object = object_of<CompletionQueue>(cq);
  const auto lock = object.context->adapter->lock();
  object.arm(solicited_only != 0);
  object.context->adapter->drive();
  return 0;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr unsigned known_attributes = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  constexpr unsigned known_creation = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  const bool has_flags = (attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if ((attributes->comp_mask & ~known_attributes) != 0 ||
      (attributes->wc_flags & ~std::uint64_t{known_flags}) != 0 ||
      (has_flags && (attributes->flags & ~known_creation) != 0))
    return refuse(EOPNOTSUPP);
  CompletionQueue* const cq = create(context, attributes->cqe, attributes->cq_context,
                                     attributes->channel, attributes->comp_vector);
  return cq == nullptr ? nullptr : &cq->handle.visible;
}

SOFTRDMA_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                      ibv_comp_channel* channel, int vector) {
  if (entries < 0 || vector < 0) return refuse(EINVAL);
  CompletionQueue* const cq = create(context, static_cast<std::uint32_t>(entries), cq_context,
                                     channel, static_cast<std::uint32_t>(vector));
  return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(&cq->handle.visible);
}

SOFTRDMA_EXPORT int ibv_resize_cq(ibv_cq* cq, int entries) {
  auto& object = object_of<CompletionQueue>(cq);
  if (entries <= 0 || entries > completions_max) return EINVAL;
  const auto lock = object.context->adapter->lock();
  if (!object.completions.resize(static_cast<std::uint32_t>(entries))) return EINVAL;
  cq->cqe = entries;
  return 0;
}

SOFTRDMA_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  auto& object = object_of<CompletionQueue>(cq);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  if (object.users > 0) return EBUSY;
  if (object.channel != nullptr) {
    object.channel->events.remove(
        [&](const CompletionQueue* waiting) { return waiting == &object; });
    --cq->channel->refcnt;
  }
  object.context->events.remove([&](const ibv_async_event& event) {
    return event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq;
  });
  // Every event that was fetched is the program's until it says otherwise.
  while (cq->comp_events_completed != object.events_fetched ||
         cq->async_events_completed != object.errors_fetched)
    adapter.wait(lock);
  delete &object;
  return 0;
}

SOFTRDMA_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (is_lost()) return refuse(ENODEV);
  auto channel = std::make_unique<Channel>();
  if (channel->events.descriptor() < 0) return refuse(EMFILE);
  if (!Context::of(context).adapter->has_thread()) channel->events.never_wait();
  channel->handle.visible = {.context = context, .fd = channel->events.descriptor(), .refcnt = 0};
  channel->handle.object = channel.get();
  return &channel.release()->handle.visible;
}

SOFTRDMA_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  auto& object = object_of<Channel>(channel);
  const auto lock = Context::of(channel->context).adapter->lock();
  if (channel->refcnt > 0) return EBUSY;
  delete &object;
  return 0;
}

SOFTRDMA_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  auto& object = object_of<Channel>(channel);
  Adapter& adapter = *Context::of(channel->context).adapter;
  for (;;) {
    if (is_lost() || !object.events.wait()) return -1;
    const auto lock = adapter.lock();
    CompletionQueue* found = nullptr;
    if (!object.events.pop(&found)) continue;
    ++found->events_fetched;
    *cq = ibv_cq_ex_to_cq(&found->handle.visible);
    *cq_context = found->handle.visible.cq_context;
    return 0;
  }
}

SOFTRDMA_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned events) {
  Adapter& adapter = *object_of<CompletionQueue>(cq).context->adapter;
  const auto lock = adapter.lock();
  cq->comp_events_completed += events;
  adapter.changed();
}

}  // namespace softrdma::verbs
