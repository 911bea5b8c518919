// Tag matching: what a program does to the buffers of a shared receive queue that have tags.
#include <cerrno>
#include <span>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

/// What of REQUEST does not depend on the buffers: 0 or EINVAL.
int check(const ibv_ops_wr& request) {
  constexpr int known_flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;
  if ((request.flags & ~known_flags) != 0 || request.opcode > IBV_WR_TAG_SYNC) return EINVAL;
  const int entries = request.tm.add.num_sge;
  const bool has_entries = request.opcode == IBV_WR_TAG_ADD;
  const bool fits = entries >= 0 && entries <= static_cast<int>(queue::tag_entries_max);
  return has_entries && !fits ? EINVAL : 0;
}

ibv_wc_opcode completion_of(ibv_ops_wr_opcode opcode) {
  if (opcode == IBV_WR_TAG_ADD) return IBV_WC_TM_ADD;
  return opcode == IBV_WR_TAG_DEL ? IBV_WC_TM_DEL : IBV_WC_TM_SYNC;
}

/// It is over at once. One that fails has a completion whether it asks for that or not.
void complete(SharedReceives& receives, const ibv_ops_wr& request, ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS && (request.flags & IBV_OPS_SIGNALED) == 0) return;
  queue::Completion completion;
  completion.wc.wr_id = request.wr_id;
  completion.wc.status = status;
  completion.wc.opcode = completion_of(request.opcode);
  completion.wc.wc_flags = receives.tags->is_synchronized() ? 0U : unsigned{IBV_WC_TM_SYNC_REQ};
  completion.time_ns = receives.context->adapter->now_ns();
  receives.completions->completions.push(completion);
}

int post(SharedReceives& receives, ibv_ops_wr& request) {
  queue::TagMatcher& tags = *receives.tags;
  if (const int error = check(request); error != 0) return error;
  if (request.opcode == IBV_WR_TAG_ADD && tags.is_full()) return ENOMEM;
  const bool has_count =
      (request.flags & IBV_OPS_TM_SYNC) != 0 || request.opcode == IBV_WR_TAG_SYNC;
  if (has_count) tags.synchronize(request.tm.unexpected_cnt);
  ibv_wc_status status = IBV_WC_SUCCESS;
  if (request.opcode == IBV_WR_TAG_ADD) {
    const auto& added = request.tm.add;
    request.tm.handle = tags.add(added.recv_wr_id, added.tag, added.mask,
                                 std::span(added.sg_list, static_cast<std::size_t>(added.num_sge)));
  }
  if (request.opcode == IBV_WR_TAG_DEL && !tags.remove(request.tm.handle)) status = IBV_WC_TM_ERR;
  complete(receives, request, status);
  return 0;
}

}  // namespace

int post_srq_ops(ibv_srq* srq, ibv_ops_wr* work, ibv_ops_wr** bad) {
  if (is_lost()) return ENODEV;
  auto& receives = object_of<SharedReceives>(srq);
  const auto lock = receives.context->adapter->lock();
  return post_each(work, bad, [&](ibv_ops_wr& request) {
    return receives.tags == nullptr ? EINVAL : post(receives, request);
  });
}

}  // namespace softrdma::verbs
