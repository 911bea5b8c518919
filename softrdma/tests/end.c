#include "end.h"

#include <stdio.h>
#include <stdlib.h>

enum { end_port = 1 };

void die(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

struct end open_end(struct ibv_device* device, uint32_t depth, void* memory, size_t bytes) {
  struct end end = {.context = device == NULL ? NULL : ibv_open_device(device)};
  if (end.context == NULL) die("opening a device failed");
  end.domain = ibv_alloc_pd(end.context);
  end.completions = ibv_create_cq(end.context, 2 * (int)depth, NULL, NULL, 0);
  end.region =
      ibv_reg_mr(end.domain, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_qp_init_attr how = {
      .send_cq = end.completions,
      .recv_cq = end.completions,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1}};
  end.qp = ibv_create_qp(end.domain, &how);
  struct ibv_port_attr shown;
  if (end.region == NULL || end.qp == NULL || ibv_query_port(end.context, end_port, &shown) != 0)
    die("making a queue pair failed");
  end.lid = shown.lid;
  return end;
}

void connect_to(struct end* end, const struct end* peer) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                   .port_num = end_port,
                                   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
                                   .path_mtu = IBV_MTU_1024,
                                   .dest_qp_num = peer->qp->qp_num,
                                   .ah_attr = {.dlid = peer->lid, .port_num = end_port},
                                   .max_dest_rd_atomic = 1,
                                   .max_rd_atomic = 1,
                                   .min_rnr_timer = 12,
                                   .timeout = 14,
                                   .retry_cnt = 7,
                                   .rnr_retry = 7};
  int failed = ibv_modify_qp(end->qp, &attributes,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  attributes.qp_state = IBV_QPS_RTR;
  failed |= ibv_modify_qp(end->qp, &attributes,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  attributes.qp_state = IBV_QPS_RTS;
  failed |= ibv_modify_qp(end->qp, &attributes,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (failed) die("connecting failed");
}

void close_end(struct end* end) {
  ibv_destroy_qp(end->qp);
  ibv_dereg_mr(end->region);
  ibv_destroy_cq(end->completions);
  ibv_dealloc_pd(end->domain);
  ibv_close_device(end->context);
}
