#include "transport/verbs/zero_copy_queue_pair.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace hawser::transport::verbs {

Error ZeroCopyQueuePair::refusal(const Port& port, const char* what) {
  return Error(ErrorClass::other,
               fmt::format("the adapter '{}' refuses {} for transfers without copies: {}",
                           port.device, what, std::strerror(errno)));
}

Error ZeroCopyQueuePair::give_up(const char* what) {
  Error error = refusal(*port_, what);
  queue_pair_.reset();
  return error;
}

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
  if (!queue_pair_) return refusal(*port_, "a datagram queue pair");
  return {};
}

Result<void> ZeroCopyQueuePair::open(std::uint32_t queue_key) {
  if (is_ready_) {
    if (change_key(queue_key)) return {};
    // It has failed since it was used last.
    reset();
    if (!exists()) return refusal(*port_, "to reset a queue pair");
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
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_->number;
  attributes.qkey = queue_key;
  if (!modify(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
    return give_up("to initialise a queue pair");
  attributes.qp_state = IBV_QPS_RTR;
  if (!modify(attributes, IBV_QP_STATE)) return give_up("to receive by a queue pair");
  // One that only receives goes on to here, too: in no state before can its key be changed.
  attributes.qp_state = IBV_QPS_RTS;
  if (!modify(attributes, IBV_QP_STATE | IBV_QP_SQ_PSN)) return give_up("to send by a queue pair");
  is_ready_ = true;
  return {};
}

void ZeroCopyQueuePair::reset() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  is_ready_ = false;
  if (!modify(attributes, IBV_QP_STATE)) queue_pair_.reset();
}

}  // namespace hawser::transport::verbs
