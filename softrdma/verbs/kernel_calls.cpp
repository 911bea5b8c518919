// What libibverbs offers to the connection manager and to drivers: structures of the kernel and the
// program's own into one another, files of /sys.
#include <fcntl.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "platform/file.hpp"
#include "softrdma/verbs/calls.hpp"

namespace softrdma::verbs {
namespace {

template <class To, class From>
void copy_gid(To& to, const From& from) {
  static_assert(sizeof(to) == sizeof(ibv_gid) && sizeof(from) == sizeof(ibv_gid));
  std::memcpy(&to, &from, sizeof(to));
}

}  // namespace

ib_uverbs_ah_attr kernel_address(const ibv_ah_attr& address) {
  ib_uverbs_ah_attr out{};
  copy_gid(out.grh.dgid, address.grh.dgid);
  out.grh.flow_label = address.grh.flow_label;
  out.grh.sgid_index = address.grh.sgid_index;
  out.grh.hop_limit = address.grh.hop_limit;
  out.grh.traffic_class = address.grh.traffic_class;
  out.dlid = address.dlid;
  out.sl = address.sl;
  out.src_path_bits = address.src_path_bits;
  out.static_rate = address.static_rate;
  out.is_global = address.is_global;
  out.port_num = address.port_num;
  return out;
}

SOFTRDMA_EXPORT void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, const ib_uverbs_ah_attr* from) {
  *to = {};
  copy_gid(to->grh.dgid, from->grh.dgid);
  to->grh.flow_label = from->grh.flow_label;
  to->grh.sgid_index = from->grh.sgid_index;
  to->grh.hop_limit = from->grh.hop_limit;
  to->grh.traffic_class = from->grh.traffic_class;
  to->dlid = from->dlid;
  to->sl = from->sl;
  to->src_path_bits = from->src_path_bits;
  to->static_rate = from->static_rate;
  to->is_global = from->is_global;
  to->port_num = from->port_num;
}

SOFTRDMA_EXPORT void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, const ib_uverbs_qp_attr* from) {
  *to = {};
  to->qp_state = static_cast<ibv_qp_state>(from->qp_state);
  to->cur_qp_state = static_cast<ibv_qp_state>(from->cur_qp_state);
  to->path_mtu = static_cast<ibv_mtu>(from->path_mtu);
  to->path_mig_state = static_cast<ibv_mig_state>(from->path_mig_state);
  to->qkey = from->qkey;
  to->rq_psn = from->rq_psn;
  to->sq_psn = from->sq_psn;
  to->dest_qp_num = from->dest_qp_num;
  to->qp_access_flags = from->qp_access_flags;
  to->cap = {.max_send_wr = from->max_send_wr,
             .max_recv_wr = from->max_recv_wr,
             .max_send_sge = from->max_send_sge,
             .max_recv_sge = from->max_recv_sge,
             .max_inline_data = from->max_inline_data};
  ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
  ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
  to->pkey_index = from->pkey_index;
  to->alt_pkey_index = from->alt_pkey_index;
  to->en_sqd_async_notify = from->en_sqd_async_notify;
  to->sq_draining = from->sq_draining;
  to->max_rd_atomic = from->max_rd_atomic;
  to->max_dest_rd_atomic = from->max_dest_rd_atomic;
  to->min_rnr_timer = from->min_rnr_timer;
  to->port_num = from->port_num;
  to->timeout = from->timeout;
  to->retry_cnt = from->retry_cnt;
  to->rnr_retry = from->rnr_retry;
  to->alt_port_num = from->alt_port_num;
  to->alt_timeout = from->alt_timeout;
}

SOFTRDMA_EXPORT void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to,
                                                 const ib_user_path_rec* from) {
  *to = {};
  copy_gid(to->dgid, from->dgid);
  copy_gid(to->sgid, from->sgid);
  to->dlid = from->dlid;
  to->slid = from->slid;
  to->raw_traffic = static_cast<int>(from->raw_traffic);
  to->flow_label = from->flow_label;
  to->hop_limit = from->hop_limit;
  to->traffic_class = from->traffic_class;
  to->reversible = static_cast<int>(from->reversible);
  to->numb_path = from->numb_path;
  to->pkey = from->pkey;
  to->sl = from->sl;
  to->mtu_selector = from->mtu_selector;
  to->mtu = static_cast<std::uint8_t>(from->mtu);
  to->rate_selector = from->rate_selector;
  to->rate = from->rate;
  to->packet_life_time_selector = from->packet_life_time_selector;
  to->packet_life_time = from->packet_life_time;
  to->preference = from->preference;
}

SOFTRDMA_EXPORT void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, const ibv_sa_path_rec* from) {
  *to = {};
  copy_gid(to->dgid, from->dgid);
  copy_gid(to->sgid, from->sgid);
  to->dlid = from->dlid;
  to->slid = from->slid;
  to->raw_traffic = static_cast<std::uint32_t>(from->raw_traffic);
  to->flow_label = from->flow_label;
  to->reversible = static_cast<std::uint32_t>(from->reversible);
  to->mtu = from->mtu;
  to->pkey = from->pkey;
  to->hop_limit = from->hop_limit;
  to->traffic_class = from->traffic_class;
  to->numb_path = from->numb_path;
  to->sl = from->sl;
  to->mtu_selector = from->mtu_selector;
  to->rate_selector = from->rate_selector;
  to->rate = from->rate;
  to->packet_life_time_selector = from->packet_life_time_selector;
  to->packet_life_time = from->packet_life_time;
  to->preference = from->preference;
}

SOFTRDMA_EXPORT const char* ibv_get_sysfs_path() { return "/sys"; }

/// The bytes read, without a newline at the end, or -1. With room, a 0 follows them.
SOFTRDMA_EXPORT int ibv_read_sysfs_file(const char* folder, const char* name, char* out,
                                        std::size_t bytes) {
  const std::string path = std::string(folder) + "/" + name;
  const hawser::platform::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return -1;
  const ssize_t got = ::read(file.get(), out, bytes);
  if (got < 0) return -1;
  auto length = static_cast<std::size_t>(got);
  if (length > 0 && out[length - 1] == '\n') --length;
  if (length < bytes) out[length] = '\0';
  return static_cast<int>(length);
}

/// Drivers of hardware register themselves; there is none here.
SOFTRDMA_EXPORT void ibv_register_driver(const char*, void*) {}

}  // namespace softrdma::verbs
