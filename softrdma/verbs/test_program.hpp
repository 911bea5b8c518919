// A program of the verbs, for tests: one device with memory, a completion queue and queue pairs.
//
// Ownership: of what it made, until close(). Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "softrdma/qp/test_masks.hpp"

namespace softrdma::verbs {

inline constexpr int access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
inline constexpr std::uint32_t test_queue_key = 0x11;

class TestProgram {
 public:
  bool open(ibv_device* device) {
    context = ibv_open_device(device);
    if (context == nullptr) return false;
    domain = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    completions = ibv_create_cq(context, 64, this, channel, 0);
    region = ibv_reg_mr(domain, ram.data(), ram.size(), access);
    return domain != nullptr && completions != nullptr && region != nullptr;
  }
  void close() {
    for (ibv_qp* qp : std::exchange(queue_pairs, {})) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    EXPECT_EQ(ibv_destroy_cq(completions), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }

  ibv_qp* create(ibv_srq* srq = nullptr, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions;
    attributes.srq = srq;
    attributes.qp_type = type;
    attributes.cap = {.max_send_wr = 8,
                      .max_recv_wr = 8,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 32};
    queue_pairs.push_back(ibv_create_qp(domain, &attributes));
    return queue_pairs.back();
  }
  /// PEER: of this device.
  int connect(ibv_qp* qp, std::uint32_t peer) { return connect(qp, peer, lid()); }
  int connect(ibv_qp* qp, std::uint32_t peer, std::uint16_t peer_lid) {
    ibv_qp_attr attributes{};
    attributes.port_num = attributes.ah_attr.port_num = 1;
    attributes.ah_attr.dlid = peer_lid;
    attributes.qp_access_flags = access;
    attributes.qkey = test_queue_key;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.timeout = 14;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    attributes.min_rnr_timer = 1;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1;
    const Masks masks = masks_of(qp->qp_type);
    attributes.qp_state = IBV_QPS_INIT;
    int failed = ibv_modify_qp(qp, &attributes, masks.to_init);
    attributes.qp_state = IBV_QPS_RTR;
    failed |= ibv_modify_qp(qp, &attributes, masks.to_rtr);
    attributes.qp_state = IBV_QPS_RTS;
    return failed | ibv_modify_qp(qp, &attributes, masks.to_rts);
  }
  /// Two that are connected to one another.
  std::pair<ibv_qp*, ibv_qp*> create_pair() {
    ibv_qp* const a = create();
    ibv_qp* const b = create();
    EXPECT_EQ(connect(a, b->qp_num), 0);
    EXPECT_EQ(connect(b, a->qp_num), 0);
    return {a, b};
  }
  [[nodiscard]] std::uint16_t lid() const {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    return port.lid;
  }

  ibv_sge entry(std::size_t offset, std::uint32_t bytes) {
    return {.addr = reinterpret_cast<std::uint64_t>(ram.data()) + offset,
            .length = bytes,
            .lkey = region->lkey};
  }
  /// ADD(work) for what is more than a message.
  template <class Add>
  int post_send(ibv_qp* qp, std::uint64_t id, std::size_t offset, std::uint32_t bytes, Add&& add) {
    ibv_sge from = entry(offset, bytes);
    ibv_send_wr work{};
    work.wr_id = id;
    work.sg_list = &from;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    add(work);
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &work, &bad);
  }
  int post_send(ibv_qp* qp, std::uint64_t id, std::size_t offset, std::uint32_t bytes) {
    return post_send(qp, id, offset, bytes, [](ibv_send_wr&) {});
  }
  int post_receive(ibv_qp* qp, std::uint64_t id, std::size_t offset, std::uint32_t bytes) {
    return post_receive(ibv_post_recv, qp, id, offset, bytes);
  }
  int post_receive(ibv_srq* srq, std::uint64_t id, std::size_t offset, std::uint32_t bytes) {
    return post_receive(ibv_post_srq_recv, srq, id, offset, bytes);
  }
  /// Writes 8 bytes from FROM to TO, of the peer of QP, and waits.
  ibv_wc_status write(ibv_qp* qp, ibv_mr* from, ibv_mr* to) {
    ibv_sge source{
        .addr = reinterpret_cast<std::uint64_t>(from->addr), .length = 8, .lkey = from->lkey};
    ibv_send_wr work{};
    work.sg_list = &source;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(to->addr), .rkey = to->rkey};
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp, &work, &bad), 0);
    ibv_wc completion{};
    while (ibv_poll_cq(completions, 1, &completion) == 0) {
    }
    return completion.status;
  }
  std::vector<std::uint64_t> poll_ids(std::size_t count) {
    std::vector<std::uint64_t> out;
    for (int looks = 0; looks < 1000000 && out.size() < count; ++looks) {
      ibv_wc completion{};
      if (ibv_poll_cq(completions, 1, &completion) != 1) continue;
      EXPECT_EQ(completion.status, IBV_WC_SUCCESS) << ibv_wc_status_str(completion.status);
      out.push_back(completion.wr_id);
    }
    std::ranges::sort(out);
    return out;
  }

  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* completions = nullptr;
  ibv_mr* region = nullptr;
  std::vector<char> ram = std::vector<char>(1 << 20);
  std::vector<ibv_qp*> queue_pairs;

 private:
  /// What a queue pair is given on its way up.
  struct Masks {
    int to_init, to_rtr, to_rts;
  };
  static Masks masks_of(ibv_qp_type type) {
    switch (type) {
      case IBV_QPT_UD:
        return {qp::ud_to_init, IBV_QP_STATE, qp::unreliable_to_rts};
      case IBV_QPT_UC:
        return {qp::connected_to_init, qp::uc_to_rtr, qp::unreliable_to_rts};
      case IBV_QPT_XRC_SEND:
        return {qp::connected_to_init, qp::uc_to_rtr, qp::rc_to_rts};
      case IBV_QPT_XRC_RECV:
        return {qp::connected_to_init, qp::rc_to_rtr, qp::unreliable_to_rts | IBV_QP_TIMEOUT};
      default:
        return {qp::connected_to_init, qp::rc_to_rtr, qp::rc_to_rts};
    }
  }
  template <class Post, class Queue>
  int post_receive(Post post, Queue* queue, std::uint64_t id, std::size_t offset,
                   std::uint32_t bytes) {
    ibv_sge to = entry(offset, bytes);
    ibv_recv_wr work{.wr_id = id, .next = nullptr, .sg_list = &to, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    return post(queue, &work, &bad);
  }
};

}  // namespace softrdma::verbs
