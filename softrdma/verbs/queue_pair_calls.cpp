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

/// What a queue pair is made of, beside its attributes. Null: the type has none.
struct Origin {
  Context* context = nullptr;
  Domain* domain = nullptr;
  XrcDomain* xrc = nullptr;
};

/// Of XRC one end has no receives, and the other nothing at all.
void leave_out_what_the_type_lacks(ibv_qp_init_attr& attributes) {
  const bool is_target = attributes.qp_type == IBV_QPT_XRC_RECV;
  if (is_target) attributes.send_cq = nullptr;
  if (is_target || attributes.qp_type == IBV_QPT_XRC_SEND) {
    attributes.recv_cq = nullptr;
    attributes.srq = nullptr;
  }
  if (attributes.srq != nullptr || attributes.recv_cq == nullptr)
    attributes.cap.max_recv_wr = attributes.cap.max_recv_sge = 0;
  if (is_target) attributes.cap = {};
}

/// 0, or why there can't be such a queue pair.
int check(const Origin& origin, const ibv_qp_init_attr& attributes) {
  const bool fits_caps = fits(attributes.cap);
  switch (attributes.qp_type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
      return origin.domain != nullptr && attributes.send_cq != nullptr &&
                     attributes.recv_cq != nullptr && fits_caps
                 ? 0
                 : EINVAL;
    case IBV_QPT_XRC_SEND:
      return origin.domain != nullptr && attributes.send_cq != nullptr && fits_caps ? 0 : EINVAL;
    case IBV_QPT_XRC_RECV:
      return origin.xrc != nullptr ? 0 : EINVAL;
    default:
      return EOPNOTSUPP;
  }
}

template <class Object, class Visible>
Object* object_or_null(Visible* visible) {
  return visible == nullptr ? nullptr : &object_of<Object>(visible);
}

/// CHANGE to how many queue pairs use each of these.
void count_user(QueuePair& qp, int change) {
  const auto add = [change](auto* object) {
    if (object != nullptr) object->users += change;
  };
  const ibv_qp& visible = qp.handle.visible.qp_base;
  add(object_or_null<Domain>(visible.pd));
  add(object_or_null<CompletionQueue>(visible.send_cq));
  add(object_or_null<CompletionQueue>(visible.recv_cq));
  add(object_or_null<SharedReceives>(visible.srq));
  add(qp.xrc);
}

/// The handle of INNER, which lets the program use it. Under the adapter's lock.
ibv_qp* make_handle(const Origin& origin, const ibv_qp_init_attr& attributes,
                    qp::QueuePair& inner) {
  auto qp = std::make_unique<QueuePair>();
  qp->context = origin.context;
  qp->made_with = attributes;
  qp->inner = &inner;
  qp->xrc = origin.xrc;
  ibv_qp& visible = qp->handle.visible.qp_base;
  visible.context = &origin.context->visible.context;
  visible.qp_context = attributes.qp_context;
  visible.pd = origin.domain == nullptr ? nullptr : &origin.domain->handle.visible;
  visible.send_cq = attributes.send_cq;
  visible.recv_cq = attributes.recv_cq;
  visible.srq = attributes.srq;
  visible.handle = visible.qp_num = inner.number();
  visible.state = inner.state();
  visible.qp_type = attributes.qp_type;
  ::pthread_mutex_init(&visible.mutex, nullptr);
  ::pthread_cond_init(&visible.cond, nullptr);
  qp->handle.object = qp.get();
  count_user(*qp, 1);
  origin.context->adapter->listen(inner.number(), *qp);
  return &qp.release()->handle.visible.qp_base;
}

ibv_qp* create(const Origin& origin, ibv_qp_init_attr attributes) {
  if (is_lost()) return refuse(ENODEV);
  leave_out_what_the_type_lacks(attributes);
  if (const int error = check(origin, attributes); error != 0) return refuse(error);
  auto* const shared = object_or_null<SharedReceives>(attributes.srq);
  const bool has_tags = shared != nullptr && shared->tags != nullptr;
  if (has_tags && attributes.qp_type != IBV_QPT_RC) return refuse(EINVAL);
  const auto completions_of = [](CompletionQueue* cq) {
    return cq == nullptr ? nullptr : &cq->completions;
  };
  const auto of_program = [](ibv_cq* cq) { return object_or_null<CompletionQueue>(cq); };
  Adapter& adapter = *origin.context->adapter;
  const auto lock = adapter.lock();
  qp::QueuePair* const inner = adapter.device().create_queue_pair(
      {.number = 0,
       .domain = origin.domain == nullptr ? 0 : origin.domain->number,
       .type = attributes.qp_type,
       .cap = attributes.cap,
       .signals_all = attributes.sq_sig_all != 0,
       .send_completions = completions_of(of_program(attributes.send_cq)),
       .receive_completions =
           completions_of(has_tags ? shared->completions : of_program(attributes.recv_cq)),
       .shared_receives = shared == nullptr ? nullptr : &shared->queue,
       .tags = has_tags ? shared->tags.get() : nullptr,
       .xrc_domain = origin.xrc == nullptr ? 0 : origin.xrc->number});
  return inner == nullptr ? refuse(ENOMEM) : make_handle(origin, attributes, *inner);
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

/// Whether ATTRIBUTES are complete for a shared receive queue of TYPE.
bool is_complete(const ibv_srq_init_attr_ex& attributes, ibv_srq_type type) {
  const ibv_tm_cap& tags = attributes.tm_cap;
  unsigned needed = IBV_SRQ_INIT_ATTR_PD;
  if (type == IBV_SRQT_XRC) needed |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if (type == IBV_SRQT_TM) needed |= IBV_SRQ_INIT_ATTR_TM | IBV_SRQ_INIT_ATTR_CQ;
  if ((attributes.comp_mask & needed) != needed) return false;
  return type != IBV_SRQT_TM || (tags.max_num_tags > 0 && tags.max_num_tags <= tags_max &&
                                 tags.max_ops > 0 && tags.max_ops <= tag_operations_max);
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

bool is_long(const ibv_send_wr& request) {
  // Copying that much takes longer than waking a thread.
  constexpr std::uint64_t long_bytes_min = 64 << 10;
  if (request.opcode != IBV_WR_RDMA_WRITE && request.opcode != IBV_WR_RDMA_READ) return false;
  return memory::total_bytes({request.sg_list, static_cast<std::size_t>(request.num_sge)}) >=
         long_bytes_min;
}

int post_send(ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad) {
  if (is_lost()) return ENODEV;
  auto& object = object_of<QueuePair>(qp);
  Adapter& adapter = *object.context->adapter;
  const auto lock = adapter.lock();
  bool takes_long = false;
  const int error = post_each(work, bad, [&](const ibv_send_wr& request) {
    if (request.opcode == IBV_WR_BIND_MW && request.bind_mw.mw->type != IBV_MW_TYPE_2)
      return EINVAL;
    const bool has_address = qp->qp_type == IBV_QPT_UD && request.wr.ud.ah != nullptr;
    const int refused = object.inner->post_send(
        request, has_address ? &object_of<AddressHandle>(request.wr.ud.ah).attributes : nullptr);
    takes_long |= refused == 0 && is_long(request);
    return refused;
  });
  adapter.send_for(*object.inner, takes_long);
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
  ibv_qp* const qp = create({&Context::of(pd->context), &object_of<Domain>(pd)}, *attributes);
  if (qp != nullptr) attributes->cap = object_of<QueuePair>(qp).made_with.cap;
  return qp;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  const auto has = [attributes](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  // Flags of creation are not there yet.
  const bool asks_for_flags = has(IBV_QP_INIT_ATTR_CREATE_FLAGS) && attributes->create_flags != 0;
  const bool is_extended = has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
  constexpr unsigned known = unsigned{IBV_QP_INIT_ATTR_PD} | unsigned{IBV_QP_INIT_ATTR_XRCD} |
                             unsigned{IBV_QP_INIT_ATTR_CREATE_FLAGS} |
                             unsigned{IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
  if ((attributes->comp_mask & ~known) != 0 || asks_for_flags) return refuse(EOPNOTSUPP);
  if (is_extended && !is_extended_type(attributes->qp_type, attributes->send_ops_flags))
    return refuse(EOPNOTSUPP);
  const ibv_qp_init_attr basic{.qp_context = attributes->qp_context,
                               .send_cq = attributes->send_cq,
                               .recv_cq = attributes->recv_cq,
                               .srq = attributes->srq,
                               .cap = attributes->cap,
                               .qp_type = attributes->qp_type,
                               .sq_sig_all = attributes->sq_sig_all};
  const Origin origin{
      .context = &Context::of(context),
      .domain = has(IBV_QP_INIT_ATTR_PD) ? object_or_null<Domain>(attributes->pd) : nullptr,
      .xrc = has(IBV_QP_INIT_ATTR_XRCD) ? object_or_null<XrcDomain>(attributes->xrcd) : nullptr};
  ibv_qp* const qp = create(origin, basic);
  if (qp == nullptr) return nullptr;
  attributes->cap = object_of<QueuePair>(qp).made_with.cap;
  if (is_extended) extend(object_of<QueuePair>(qp));
  return qp;
}

/// Another handle of an XRC target queue pair that exists.
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  if (is_lost()) return refuse(ENODEV);
  constexpr unsigned needed = unsigned{IBV_QP_OPEN_ATTR_NUM} | unsigned{IBV_QP_OPEN_ATTR_XRCD} |
                              unsigned{IBV_QP_OPEN_ATTR_TYPE};
  constexpr unsigned known = needed | unsigned{IBV_QP_OPEN_ATTR_CONTEXT};
  if ((attributes->comp_mask & needed) != needed || (attributes->comp_mask & ~known) != 0 ||
      attributes->qp_type != IBV_QPT_XRC_RECV)
    return refuse(EINVAL);
  const Origin origin{.context = &Context::of(context),
                      .xrc = &object_of<XrcDomain>(attributes->xrcd)};
  Adapter& adapter = *origin.context->adapter;
  const auto lock = adapter.lock();
  qp::QueuePair* const inner = adapter.device().open_target(attributes->qp_num, origin.xrc->number);
  if (inner == nullptr) return refuse(EINVAL);
  ibv_qp_init_attr made_with{};
  made_with.qp_type = IBV_QPT_XRC_RECV;
  if ((attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0)
    made_with.qp_context = attributes->qp_context;
  return make_handle(origin, made_with, *inner);
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
  if (adapter.device().is_attached(*object.inner)) return EBUSY;
  adapter.send_all();
  // One that others have open goes on.
  if (!adapter.ignore(object.inner->number(), object)) adapter.device().destroy(*object.inner);
  object.context->events.remove(
      [&](const ibv_async_event& event) { return event.element.qp == qp; });
  while (qp->events_completed != object.events_fetched) adapter.wait(lock);
  count_user(object, -1);
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

ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* attributes) {
  const auto has = [attributes](unsigned bit) { return (attributes->comp_mask & bit) != 0; };
  const ibv_srq_type type = has(IBV_SRQ_INIT_ATTR_TYPE) ? attributes->srq_type : IBV_SRQT_BASIC;
  if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC && type != IBV_SRQT_TM)
    return refuse(EOPNOTSUPP);
  if (!is_complete(*attributes, type)) return refuse(EINVAL);
  ibv_srq_init_attr basic{.srq_context = attributes->srq_context, .attr = attributes->attr};
  ibv_srq* const srq = ibv_create_srq(attributes->pd, &basic);
  if (srq == nullptr || type == IBV_SRQT_BASIC) return srq;
  auto& object = object_of<SharedReceives>(srq);
  Adapter& adapter = *object.context->adapter;
  auto lock = adapter.lock();
  auto* const xrc = type == IBV_SRQT_XRC ? &object_of<XrcDomain>(attributes->xrcd) : nullptr;
  auto& completions = object_of<CompletionQueue>(attributes->cq);
  // Domains of XRC have numbers above 0: none of their queue pairs reaches one with tags.
  const std::optional<std::uint32_t> number =
      adapter.device().add({.receives = &object.queue,
                            .completions = &completions.completions,
                            .domain = object_of<Domain>(attributes->pd).number,
                            .xrc_domain = xrc == nullptr ? 0 : xrc->number});
  if (!number) {
    lock.unlock();
    ibv_destroy_srq(srq);
    return refuse(ENOMEM);
  }
  object.number = *number;
  object.completions = &completions;
  ++completions.users;
  if (type == IBV_SRQT_TM) {
    object.tags = std::make_unique<queue::TagMatcher>(attributes->tm_cap.max_num_tags);
  } else {
    object.xrc = xrc;
    ++xrc->users;
  }
  return srq;
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  const auto& object = object_of<SharedReceives>(srq);
  if (object.completions == nullptr) return EOPNOTSUPP;
  *number = object.number;
  return 0;
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
  if (object.xrc != nullptr) --object.xrc->users;
  if (object.completions != nullptr) {
    adapter.device().remove_target(object.number);
    --object.completions->users;
  }
  delete &object;
  return 0;
}

}  // namespace softrdma::verbs
