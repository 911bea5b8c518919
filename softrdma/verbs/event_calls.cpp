// Asynchronous events.
#include <cerrno>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

enum class Element : unsigned char { completion_queue, queue_pair, shared_receives, other };

Element element_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return Element::completion_queue;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return Element::queue_pair;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return Element::shared_receives;
    default:
      return Element::other;
  }
}

void note_fetched(const ibv_async_event& event) {
  switch (element_of(event.event_type)) {
    case Element::completion_queue:
      ++object_of<CompletionQueue>(event.element.cq).errors_fetched;
      return;
    case Element::queue_pair:
      ++object_of<QueuePair>(event.element.qp).events_fetched;
      return;
    case Element::shared_receives:
      ++object_of<SharedReceives>(event.element.srq).events_fetched;
      return;
    case Element::other:
      return;
  }
}

/// Where the events of an element are counted, and whose lock that needs.
struct Acknowledged {
  std::uint32_t* count = nullptr;
  Adapter* adapter = nullptr;
};

Acknowledged acknowledged_of(const ibv_async_event& event) {
  switch (element_of(event.event_type)) {
    case Element::completion_queue: {
      ibv_cq& cq = *event.element.cq;
      return {&cq.async_events_completed, Context::of(cq.context).adapter};
    }
    case Element::queue_pair: {
      ibv_qp& qp = *event.element.qp;
      return {&qp.events_completed, Context::of(qp.context).adapter};
    }
    case Element::shared_receives: {
      ibv_srq& srq = *event.element.srq;
      return {&srq.events_completed, Context::of(srq.context).adapter};
    }
    case Element::other:
      break;
  }
  return {};
}

}  // namespace

SOFTRDMA_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& object = Context::of(context);
  for (;;) {
    if (is_lost() || !object.events.wait()) return -1;
    const auto lock = object.adapter->lock();
    if (!object.events.pop(event)) continue;
    note_fetched(*event);
    return 0;
  }
}

SOFTRDMA_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
  const Acknowledged acknowledged = acknowledged_of(*event);
  if (acknowledged.adapter == nullptr) return;
  const auto lock = acknowledged.adapter->lock();
  ++*acknowledged.count;
  acknowledged.adapter->changed();
}

}  // namespace softrdma::verbs
