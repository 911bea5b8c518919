#include "transport/verbs/zero_copy_queue_pair.hpp"

#include <cerrno>

namespace hawser::transport::verbs {

/// ibv_modify_qp returns what others leave in errno.
bool ZeroCopyQueuePair::modify(ibv_qp_attr& attributes, int given) {
  errno = ibv_modify_qp(queue_pair_.get(), &attributes, given);
  return errno == 0;
}

Result<void> ZeroCopyQueuePair::make(ibv_cq* completions, const ibv_qp_cap& capacity) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions;
  wanted.recv_cq = completions;
  wanted.cap = capacity;
  wanted.qp_type = IBV_QPT_UD;
  queue_pair_.reset(ibv_create_qp(port_->protection_domain.get(), &wanted));
  if (!queue_pair_) return refusal("a datagram queue pair");
  return {};
}

Result<void> ZeroCopyQueuePair::open(std::uint32_t queue_key) {
  if (is_ready_) {
    if (change_key(queue_key)) return {};
    // It has failed since it was used last.
    reset();
    if (!exists()) return refusal("to reset a queue pair");
  }
  return make_ready(queue_key);
}

bool ZeroCopyQueuePair::change_key(std::uint32_t queue_key) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.qkey = queue_key;
  return modify(attributes, IBV_QP_STATE | IBV_QP_QKEY);
}

Result<void> ZeroCopyQueuePair::make_ready(std::uint32_t queue_key) {
  // One that only receives is to send, too: in no state before can its key be changed.
  Result<void> opened = port_->open_datagram_queue_pair(*queue_pair_, queue_key);
  is_ready_ = opened.ok();
  if (!opened) queue_pair_.reset();
  return opened;
}

void ZeroCopyQueuePair::reset() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  is_ready_ = false;
  if (!modify(attributes, IBV_QP_STATE)) queue_pair_.reset();
}

}  // namespace hawser::transport::verbs
