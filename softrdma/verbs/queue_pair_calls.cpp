// Queue pairs and shared receive queues.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "softrdma/memory/scatter_gather.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/extended_send.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::uint32_t entries_max = memory::entries_max;

bool is_within(std::uint32_t value, int limit) {
  return value <= static_cast<std::uint32_t>(limit);
}

bool fits(const ibv_qp_cap& cap) {
  return is_within(cap.max_send_wr, work_max) && is_within(cap.max_recv_wr, work_max) &&
         cap.max_send_sge <= entries_max && cap.max_recv_sge <= entries_max &&
         is_within(cap.max_inline_data, inline_bytes_max);
}

bool is_known(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

ibv_qp* create(ibv_pd* pd, const ibv_qp_init_attr& attributes) {
  if (is_lost()) return refuse(ENODEV);
  if (!is_known(attributes.qp_type)) return refuse(EOPNOTSUPP);
  if (attributes.send_cq == nullptr || attributes.recv_cq == nullptr || !fits(attributes.cap))
    return refuse(EINVAL);
  auto& domain = object_of<Domain>(pd);
  auto& sends = object_of<CompletionQueue>(attributes.send_cq);
  auto& receives = object_of<CompletionQueue>(attributes.recv_cq);
  SharedReceives* const shared =
      attributes.srq == nullptr ? nullptr : &object_of<SharedReceives>(attributes.srq);
  Context& context = Context::of(pd->context);

  auto qp = std::make_unique<QueuePair>();
  qp->context = &context;
  qp->made_with = attributes;
  if (shared != nullptr) qp->made_with.cap.max_recv_wr = qp->made_with.cap.max_recv_sge = 0;
  const auto lock = context.adapter->lock();
  qp->inner = context.adapter->device().create_queue_pair(
      {.number = 0,
       .domain = domain.number,
       .type = attributes.qp_type,
       .cap = qp->made_with.cap,
       .signals_all = attributes.sq_sig_all != 0,
       .send_completions = &sends.completions,
       .receive_completions = &receives.completions,
       .shared_receives = shared == nullptr ? nullptr : &shared->queue});
  if (qp->inner == nullptr) return refuse(ENOMEM);
  context.adapter->listen(qp->inner->number(), qp.get());
  ++domain.users;
  ++sends.users;
  ++receives.users;
  if (shared != nullptr) ++shared->users;

  ibv_qp& visible = qp->handle.visible.qp_base;
  visible.context = pd->context;
  visible.qp_context = attributes.qp_context;
  visible.pd = pd;
  visible.send_cq = attributes.send_cq;
  visible.recv_cq = attributes.recv_cq;
  visible.srq = attributes.srq;
  visible.handle = visible.qp_num = qp->inner->number();
  visible.state = IBV_QPS_RESET;
  visible.qp_type = attributes.qp_type;
  ::pthread_mutex_init(&visible.mutex, nullptr);
  ::pthread_cond_init(&visible.cond, nullptr);
  qp->handle.object = qp.get();
  return &qp.release()->handle.visible.qp_base;
}

/// Once: what a program says of the errno alone helps nobody.
void tell_of_no_way(const Adapter& adapter, const ibv_ah_attr& address) {
  static bool has_told = false;
  if (std::exchange(has_told, true)) return;
  const std::string whom = address.is_global != 0
                               ? fmt::format("GID {:02x}", fmt::join(address.grh.dgid.raw, ""))
                               : fmt::format("LID {}", address.dlid);
  std::fprintf(stderr, "softrdma: %s is not of this host%s\n", whom.c_str(),
               adapter.has_network()
                   ? ", and no address of ours leads there (IPv4 or IPv6, MTU, port, GID index)"
                   : ", and there is no way to others: UDP port 4791 is taken, by another program "
                     "or fabric");
}

/// POST(work) for each of a list; stops at the first that fails.
template <class Work, class Post>
int post_each(Work* work, Work** bad, Post&& post) {
  for (; work != nullptr; work = work->next) {
    const int error = post(*work);
    if (error == 0) continue;
    *bad = work;
    return error;
  }
  return 0;
}

}  // namespace

void QueuePair::on_event(ibv_event_type type) {
  ibv_async_event event{};
  event.event_type = type;
  event.element.qp = &handle.visible.qp_base;
  context->events.push(event);
}

void SharedReceives::on_limit_reached() {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
  event.element.srq = &handle.visible;
  context->events.push(event);
}

// Posting

int post_send(ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  const auto lock = adapter.lock();
  const int error = post_each(work, bad, [&](const ibv_send_wr& request) {
    if (request.opcode == IBV_WR_BIND_MW && request.bind_mw.mw->type != IBV_MW_TYPE_2)
      return EINVAL;
    const bool has_address = qp->qp_type == IBV_QPT_UD && request.wr.ud.ah != nullptr;
    return object.inner->post_send(
        request, has_address ? &object_of<AddressHandle>(request.wr.ud.ah).attributes : nullptr);
  });
  adapter.send_for(*object.inner);
  return error;
}

/// The program's call for windows of type 1, whose new key the device chooses.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  ibv_send_wr work{};
  work.wr_id = bind->wr_id;
  work.opcode = IBV_WR_BIND_MW;
  work.send_flags = bind->send_flags & ~unsigned{IBV_SEND_INLINE};
  work.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info};
  const auto lock = adapter.lock();
  const int error = object.inner->post_send(work, nullptr);
  if (error != 0) return error;
  mw->rkey = work.bind_mw.rkey;
  adapter.send_for(*object.inner);
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  const auto lock = object.context->adapter->lock();
  return post_each(work, bad,
                   [&](const ibv_recv_wr& request) { return object.inner->post_receive(request); });
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* work, ibv_recv_wr** bad) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<SharedReceives>(srq);
  const auto lock = object.context->adapter->lock();
  return post_each(work, bad,
                   [&](const ibv_recv_wr& request) { return object.queue.ring().post(request); });
}

// Queue pairs

SOFTRDMA_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  ibv_qp* const qp = create(pd, *attributes);
  if (qp != nullptr) attributes->cap = object_of<QueuePair>(qp).made_with.cap;
  return qp;
}

ibv_qp* create_qp_ex(ibv_context* /*context*/, ibv_qp_init_attr_ex* attributes) {
  // Flags of creation are not there yet.
  const bool asks_for_flags =
      (attributes->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attributes->create_flags != 0;
  const bool is_extended = (attributes->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  constexpr unsigned known = unsigned{IBV_QP_INIT_ATTR_PD} |
                             unsigned{IBV_QP_INIT_ATTR_CREATE_FLAGS} |
                             unsigned{IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
  if ((attributes->comp_mask & ~known) != 0 || asks_for_flags) return refuse(EOPNOTSUPP);
  if ((attributes->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return refuse(EINVAL);
  if (is_extended && !is_extended_type(attributes->qp_type, attributes->send_ops_flags))
    return refuse(EOPNOTSUPP);
  ibv_qp_init_attr basic{.qp_context = attributes->qp_context,
                         .send_cq = attributes->send_cq,
                         .recv_cq = attributes->recv_cq,
                         .srq = attributes->srq,
                         .cap = attributes->cap,
                         .qp_type = attributes->qp_type,
                         .sq_sig_all = attributes->sq_sig_all};
  ibv_qp* const qp = ibv_create_qp(attributes->pd, &basic);
  if (qp == nullptr) return nullptr;
  attributes->cap = basic.cap;
  if (is_extended) extend(object_of<QueuePair>(qp));
  return qp;
}

SOFTRDMA_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  auto& object = object_of<QueuePair>(qp);
  return object.builder == nullptr ? nullptr : &object.handle.visible;
}

SOFTRDMA_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  const auto lock = adapter.lock();
  const int error = object.inner->modify(*attributes, mask);
  if (error != 0 && (mask & IBV_QP_AV) != 0 && !adapter.reaches(attributes->ah_attr))
    tell_of_no_way(adapter, attributes->ah_attr);
  qp->state = object.inner->state();
  adapter.send_for(*object.inner);
  return error;
}

SOFTRDMA_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int /*mask*/,
                                 ibv_qp_init_attr* made_with) {
  auto& object = object_of<QueuePair>(qp);
  const auto lock = object.context->adapter->lock();
  object.inner->query(attributes);
  qp->state = attributes->qp_state;
  *made_with = object.made_with;
  return 0;
}

SOFTRDMA_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  adapter.listen(object.inner->number(), nullptr);
  adapter.device().destroy(*object.inner);
  object.context->events.remove(
      [&](const ibv_async_event& event) { return event.element.qp == qp; });
  while (qp->events_completed != object.events_fetched) adapter.wait(lock);
  --object_of<Domain>(qp->pd).users;
  --object_of<CompletionQueue>(qp->send_cq).users;
  --object_of<CompletionQueue>(qp->recv_cq).users;
  if (qp->srq != nullptr) --object_of<SharedReceives>(qp->srq).users;
  delete &object;
  return 0;
}

/// What is written last is seen last, and nothing else is promised.
SOFTRDMA_EXPORT int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) { return 0; }

// Shared receive queues

SOFTRDMA_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  const ibv_srq_attr& wanted = attributes->attr;
  if (wanted.max_wr == 0 || !is_within(wanted.max_wr, work_max) || wanted.max_sge > entries_max)
    return refuse(EINVAL);
  auto srq = std::make_unique<SharedReceives>(wanted.max_wr, wanted.max_sge);
  srq->context = &Context::of(pd->context);
  ibv_srq& visible = srq->handle.visible;
  visible.context = pd->context;
  visible.srq_context = attributes->srq_context;
  visible.pd = pd;
  ::pthread_mutex_init(&visible.mutex, nullptr);
  ::pthread_cond_init(&visible.cond, nullptr);
  srq->handle.object = srq.get();
  const auto lock = srq->context->adapter->lock();
  ++object_of<Domain>(pd).users;
  return &srq.release()->handle.visible;
}

SOFTRDMA_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  auto& object = object_of<SharedReceives>(srq);
  const auto lock = object.context->adapter->lock();
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  if ((mask & IBV_SRQ_MAX_WR) != 0 &&
      (attributes->max_wr == 0 || !is_within(attributes->max_wr, work_max) ||
       !object.queue.resize(attributes->max_wr)))
    return EINVAL;
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  if (attributes->srq_limit > object.queue.ring().capacity()) return EINVAL;
  object.queue.set_limit(attributes->srq_limit);
  return 0;
}

SOFTRDMA_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  auto& object = object_of<SharedReceives>(srq);
  const auto lock = object.context->adapter->lock();
  *attributes = {.max_wr = object.queue.ring().capacity(),
                 .max_sge = object.queue.ring().entries_max(),
                 .srq_limit = object.queue.limit()};
  return 0;
}

SOFTRDMA_EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  auto& object = object_of<SharedReceives>(srq);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  if (object.users > 0) return EBUSY;
  object.context->events.remove([&](const ibv_async_event& event) {
    return event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq;
  });
  while (srq->events_completed != object.events_fetched) adapter.wait(lock);
  --object_of<Domain>(srq->pd).users;
  delete &object;
  return 0;
}

}  // namespace softrdma::verbs
