// The verbs as a program calls them, on queue pairs that talk to one another in one process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "softrdma/fabric/host.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/qp/test_masks.hpp"
#include "softrdma/verbs/test_program.hpp"

namespace softrdma::verbs {
namespace {

class Verbs : public testing::Test, protected TestProgram {
 protected:
  void SetUp() override {
    ibv_device** const list = ibv_get_device_list(nullptr);
    ASSERT_NE(list, nullptr);
    ASSERT_TRUE(open(list[0]));
    ibv_free_device_list(list);
  }
  void TearDown() override { close(); }
};

using Ids = std::vector<std::uint64_t>;

TEST_F(Verbs, AMessageArrives) {
  const auto [a, b] = create_pair();
  std::fill_n(ram.begin(), 200000, 'x');
  ASSERT_EQ(post_receive(b, 1, 500000, 200000), 0);
  ASSERT_EQ(post_send(a, 2, 0, 200000), 0);
  EXPECT_EQ(poll_ids(2), (Ids{1, 2}));
  EXPECT_EQ(std::count(ram.begin() + 500000, ram.end(), 'x'), 200000);
}

TEST_F(Verbs, AReceiveThatComesLateIsWaitedForWhileNobodyPolls) {
  const auto [a, b] = create_pair();
  ASSERT_EQ(ibv_req_notify_cq(completions, 0), 0);
  ASSERT_EQ(post_send(a, 2, 0, 100), 0);
  ASSERT_EQ(post_receive(b, 1, 1000, 100), 0);
  ibv_cq* told = nullptr;
  void* told_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &told, &told_context), 0);
  EXPECT_EQ(told, completions);
  EXPECT_EQ(told_context, static_cast<TestProgram*>(this));
  ibv_ack_cq_events(completions, 1);
  EXPECT_EQ(poll_ids(2), (Ids{1, 2}));
}

TEST_F(Verbs, LongWorkIsDoneThoughTheProgramPollsNoMore) {
  const auto [a, b] = create_pair();
  constexpr std::uint32_t bytes = 400000;
  constexpr std::size_t target = 500000;
  std::fill_n(ram.begin(), bytes, 'x');
  ASSERT_EQ(ibv_req_notify_cq(completions, 0), 0);
  // So many times that it polls, as far as the device knows.
  ibv_wc completion{};
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(ibv_poll_cq(completions, 1, &completion), 0);
  ASSERT_EQ(post_send(a, 2, 0, bytes,
                      [&](ibv_send_wr& work) {
                        work.opcode = IBV_WR_RDMA_WRITE;
                        work.wr.rdma.rkey = region->rkey;
                        work.wr.rdma.remote_addr = entry(target, bytes).addr;
                      }),
            0);
  ibv_cq* told = nullptr;
  void* told_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &told, &told_context), 0);
  ibv_ack_cq_events(completions, 1);
  EXPECT_EQ(poll_ids(1), (Ids{2}));
  EXPECT_EQ(ram[target + bytes - 1], 'x');
}

TEST_F(Verbs, EntriesBeyondWhatAQueueTakesAreNotRead) {
  const auto [a, b] = create_pair();
  EXPECT_EQ(post_send(a, 1, 0, 1,
                      [](ibv_send_wr& work) {
                        work.opcode = IBV_WR_RDMA_WRITE;
                        work.sg_list = nullptr;
                        work.num_sge = 1000;
                      }),
            EINVAL);
}

/// The seat of our device, as its neighbours see it.
const fabric::SeatMemory* own_seat(const fabric::Host& neighbour) {
  for (std::uint16_t seat = 0; seat < neighbour.seats_end(); ++seat) {
    const fabric::SeatMemory& memory = neighbour.seat_memory(seat);
    if (seat != neighbour.seat() && memory.pid.load() == static_cast<std::uint32_t>(::getpid()))
      return &memory;
  }
  return nullptr;
}

TEST_F(Verbs, WhoHasAskedForAnEventWaitsUnlessItGoesOnPolling) {
  const char* const name = std::getenv("SOFTRDMA_FABRIC");
  const std::string first_device = std::string(name == nullptr ? "default" : name) + ".0";
  const auto neighbour = fabric::Host::join(first_device);
  ASSERT_TRUE(neighbour.ok());
  const fabric::SeatMemory* const seat = own_seat(**neighbour);
  ASSERT_NE(seat, nullptr);
  ibv_wc completion{};
  const auto poll = [&](int times) {
    for (int i = 0; i < times; ++i) ibv_poll_cq(completions, 1, &completion);
    return seat->is_polled.load() != 0;
  };
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(ibv_req_notify_cq(completions, 0), 0);
    EXPECT_FALSE(poll(8));
    // The device's thread takes that back now and then, to see whether it goes on.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool is_polled = poll(100);
    while (!is_polled && std::chrono::steady_clock::now() < give_up) is_polled = poll(1);
    EXPECT_TRUE(is_polled);
  }
}

TEST_F(Verbs, AChannelThatDoesNotBlockHasNoEvent) {
  ASSERT_EQ(::fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* told = nullptr;
  void* told_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &told, &told_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Verbs, WhatIsInUseIsNotDestroyed) {
  create();
  EXPECT_EQ(ibv_destroy_cq(completions), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
}

TEST_F(Verbs, AnErrorIsAnEvent) {
  ibv_srq_init_attr attributes{};
  attributes.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(domain, &attributes);
  ASSERT_NE(srq, nullptr);
  ibv_qp* const qp = create(srq);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  ibv_qp_attr to_error{};
  to_error.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(qp, &to_error, IBV_QP_STATE), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, qp);
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  queue_pairs.clear();
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(Verbs, RightsThatContradictOneAnotherAreRefused) {
  constexpr int only_remote = IBV_ACCESS_REMOTE_WRITE;
  constexpr int zero_based = IBV_ACCESS_ZERO_BASED;
  EXPECT_EQ(ibv_reg_mr(domain, ram.data(), 10, only_remote), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(domain, ram.data(), 10, zero_based), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Verbs, AQueueBeyondWhatTheDeviceSaysIsRefused) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context, &device), 0);
  EXPECT_EQ(ibv_create_cq(context, device.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = completions;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = static_cast<std::uint32_t>(device.max_qp_wr) + 1;
  EXPECT_EQ(ibv_create_qp(domain, &attributes), nullptr);
}

TEST_F(Verbs, AParentDomainStandsForItsDomain) {
  ibv_td_init_attr plain{};
  ibv_td* const thread = ibv_alloc_td(context, &plain);
  ASSERT_NE(thread, nullptr);
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = domain;
  attributes.td = thread;
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  EXPECT_EQ(ibv_alloc_parent_domain(context, &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes.comp_mask = 0;
  ibv_pd* const parent = ibv_alloc_parent_domain(context, &attributes);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(thread), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  // A queue pair of the parent domain uses regions of the domain.
  ibv_pd* const own = std::exchange(domain, parent);
  const auto [a, b] = create_pair();
  ASSERT_EQ(post_receive(b, 1, 1000, 100), 0);
  ASSERT_EQ(post_send(a, 2, 0, 100), 0);
  EXPECT_EQ(poll_ids(2), (Ids{1, 2}));
  for (ibv_qp* qp : std::exchange(queue_pairs, {})) EXPECT_EQ(ibv_destroy_qp(qp), 0);
  domain = own;
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(thread), 0);
}

// All requests of one ibv_wr_complete are posted, or none.
TEST_F(Verbs, ExtendedWorkIsPostedAsAWhole) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = attributes.recv_cq = completions;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 2,
                    .max_recv_wr = 2,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 32};
  attributes.comp_mask = unsigned{IBV_QP_INIT_ATTR_PD} | unsigned{IBV_QP_INIT_ATTR_SEND_OPS_FLAGS};
  attributes.pd = domain;
  attributes.send_ops_flags = IBV_QP_EX_WITH_TSO;
  EXPECT_EQ(ibv_create_qp_ex(context, &attributes), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attributes.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* const a = ibv_create_qp_ex(context, &attributes);
  ASSERT_NE(a, nullptr);
  queue_pairs.push_back(a);
  ibv_qp* const b = create();
  ASSERT_EQ(connect(a, b->qp_num), 0);
  ASSERT_EQ(connect(b, a->qp_num), 0);
  for (std::uint64_t id = 10; id < 12; ++id) ASSERT_EQ(post_receive(b, id, 1000, 100), 0);
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(a);
  const auto add = [&](std::uint64_t id) {
    extended->wr_id = id;
    extended->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(extended);
    char text[] = "inline";
    ibv_wr_set_inline_data(extended, text, sizeof(text));
  };
  ibv_wr_start(extended);
  for (std::uint64_t id = 1; id < 4; ++id) add(id);
  EXPECT_EQ(ibv_wr_complete(extended), ENOMEM);
  ibv_wr_start(extended);
  add(5);
  ibv_wr_abort(extended);
  ibv_wr_start(extended);
  for (std::uint64_t id = 6; id < 8; ++id) add(id);
  EXPECT_EQ(ibv_wr_complete(extended), 0);
  EXPECT_EQ(poll_ids(4), (Ids{6, 7, 10, 11}));
  EXPECT_STREQ(ram.data() + 1000, "inline");
}

TEST_F(Verbs, XrcDomainsAreFilesThatAreOpen) {
  const int file = ::memfd_create("xrc", MFD_CLOEXEC);
  ibv_xrcd_init_attr attributes{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = file, .oflags = 0};
  EXPECT_EQ(ibv_open_xrcd(context, &attributes), nullptr);
  EXPECT_EQ(errno, EAGAIN) << "nobody has made one";
  attributes.oflags = O_CREAT;
  ibv_xrcd* const first = ibv_open_xrcd(context, &attributes);
  ibv_xrcd* const second = ibv_open_xrcd(context, &attributes);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  attributes.oflags = O_CREAT | O_EXCL;
  EXPECT_EQ(ibv_open_xrcd(context, &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL) << "it exists";

  // A target queue pair lives as long as any of its handles, in whatever domain of that file.
  ibv_qp_init_attr_ex made_with{};
  made_with.qp_type = IBV_QPT_XRC_RECV;
  made_with.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  made_with.xrcd = first;
  ibv_qp* const target = ibv_create_qp_ex(context, &made_with);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(ibv_close_xrcd(first), EBUSY);
  ibv_qp_open_attr opening{
      .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
      .qp_num = target->qp_num,
      .xrcd = second,
      .qp_context = nullptr,
      .qp_type = IBV_QPT_XRC_RECV};
  ibv_qp* const opened = ibv_open_qp(context, &opening);
  ASSERT_NE(opened, nullptr);
  ibv_qp_attr attributes_of{};
  attributes_of.port_num = 1;
  attributes_of.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(target, &attributes_of, qp::connected_to_init), 0);
  EXPECT_EQ(ibv_destroy_qp(target), 0);
  EXPECT_EQ(ibv_close_xrcd(first), 0);
  ibv_qp_init_attr shown{};
  EXPECT_EQ(ibv_query_qp(opened, &attributes_of, IBV_QP_STATE, &shown), 0);
  EXPECT_EQ(attributes_of.qp_state, IBV_QPS_INIT);
  EXPECT_EQ(ibv_destroy_qp(opened), 0);
  EXPECT_EQ(ibv_open_qp(context, &opening), nullptr) << "it is gone with its last handle";
  EXPECT_EQ(ibv_close_xrcd(second), 0);
  ::close(file);
}

TEST_F(Verbs, MemoryOfTheDeviceIsReachedByCallsAndKeys) {
  ibv_alloc_dm_attr attributes{.length = 4096, .log_align_req = 12, .comp_mask = 0};
  ibv_dm* const memory = ibv_alloc_dm(context, &attributes);
  ASSERT_NE(memory, nullptr);
  constexpr int dm_access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
  EXPECT_EQ(ibv_reg_dm_mr(domain, memory, 4000, 100, dm_access), nullptr) << "it ends before";
  ibv_mr* const key = ibv_reg_dm_mr(domain, memory, 1024, 1024, dm_access);
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(ibv_free_dm(memory), EBUSY);
  const std::uint32_t word = 0x1234;
  EXPECT_EQ(ibv_memcpy_to_dm(memory, 1028, &word, sizeof(word)), 0);
  EXPECT_EQ(ibv_memcpy_to_dm(memory, 1029, &word, sizeof(word)), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(memory, 4096, &word, sizeof(word)), EFAULT);

  auto [a, b] = create_pair();
  ASSERT_EQ(post_receive(b, 1, 0, 64), 0);
  ibv_sge from{.addr = 4, .length = sizeof(word), .lkey = key->lkey};
  ibv_send_wr work{};
  work.wr_id = 2;
  work.sg_list = &from;
  work.num_sge = 1;
  work.opcode = IBV_WR_SEND;
  work.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(a, &work, &bad), 0);
  EXPECT_EQ(poll_ids(2), (Ids{1, 2}));
  EXPECT_EQ(std::memcmp(ram.data(), &word, sizeof(word)), 0);
  EXPECT_EQ(ibv_dereg_mr(key), 0);
  EXPECT_EQ(ibv_free_dm(memory), 0);
}

// Multicast groups, of InfiniBand.

constexpr std::uint16_t group_lid = 0xc001;
constexpr std::uint32_t group_key = 0x1111;

ibv_gid group_gid() {
  ibv_gid gid{};
  gid.raw[0] = 0xff;
  gid.raw[1] = 0x12;
  gid.raw[15] = 5;
  return gid;
}

class Groups : public Verbs {
 protected:
  ibv_qp* create_datagrams(std::uint32_t queue_key = group_key) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions;
    attributes.qp_type = IBV_QPT_UD;
    attributes.cap.max_send_wr = attributes.cap.max_recv_wr = 8;
    attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
    ibv_qp* const qp = ibv_create_qp(domain, &attributes);
    queue_pairs.push_back(qp);
    ibv_qp_attr states{};
    states.port_num = 1;
    states.qkey = queue_key;
    states.qp_state = IBV_QPS_INIT;
    EXPECT_EQ(ibv_modify_qp(qp, &states, qp::ud_to_init), 0);
    states.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(ibv_modify_qp(qp, &states, IBV_QP_STATE), 0);
    states.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(qp, &states, qp::unreliable_to_rts), 0);
    return qp;
  }
  /// To the group, or to one queue pair if TO is one.
  void send(ibv_qp* from, std::uint64_t id, const ibv_qp* to = nullptr) {
    ibv_ah_attr attributes{};
    attributes.port_num = 1;
    attributes.is_global = 1;
    attributes.dlid = group_lid;
    attributes.grh.dgid = group_gid();
    if (to != nullptr) {
      EXPECT_EQ(ibv_query_gid(context, 1, 0, &attributes.grh.dgid), 0);
    }
    ibv_ah* const address = ibv_create_ah(domain, &attributes);
    ASSERT_NE(address, nullptr);
    ibv_sge bytes = entry(0, 100);
    ibv_send_wr work{};
    work.wr_id = id;
    work.sg_list = &bytes;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.ud = {.ah = address,
                  .remote_qpn = to == nullptr ? 0xffffff : to->qp_num,
                  .remote_qkey = group_key};
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(from, &work, &bad), 0);
    EXPECT_EQ(ibv_destroy_ah(address), 0);
  }
  int attach(ibv_qp* qp) {
    const ibv_gid gid = group_gid();
    return ibv_attach_mcast(qp, &gid, group_lid);
  }
  int detach(ibv_qp* qp) {
    const ibv_gid gid = group_gid();
    return ibv_detach_mcast(qp, &gid, group_lid);
  }
};

TEST_F(Groups, AMessageReachesEachThatIsAttached) {
  ibv_qp* const sender = create_datagrams();
  ibv_qp* const other = create_datagrams();
  ibv_qp* const without_receive = create_datagrams();
  ibv_qp* const with_another_key = create_datagrams(group_key + 1);
  for (ibv_qp* qp : queue_pairs) ASSERT_EQ(attach(qp), 0);
  ibv_qp* const not_attached = create_datagrams();
  for (const std::size_t i : {1U, 2U}) {
    ASSERT_EQ(post_receive(sender, 10 + i, 1000 * i, 140), 0);
    ASSERT_EQ(post_receive(other, 20 + i, 3000 + 1000 * i, 140), 0);
  }
  ASSERT_EQ(post_receive(with_another_key, 30, 6000, 140), 0);
  ASSERT_EQ(post_receive(not_attached, 40, 7000, 140), 0);
  std::fill_n(ram.begin(), 100, 'x');
  send(sender, 1);
  EXPECT_EQ(poll_ids(3), (Ids{1, 11, 21})) << "the sender is attached, too";
  for (const std::size_t place : {1000U, 4000U}) {
    EXPECT_EQ(std::ranges::count(std::span(ram).subspan(place + qp::grh_bytes, 100), 'x'), 100);
    ibv_grh header;
    std::memcpy(&header, ram.data() + place, sizeof(header));
    const ibv_gid gid = group_gid();
    EXPECT_EQ(std::memcmp(header.dgid.raw, gid.raw, sizeof(gid.raw)), 0);
  }

  ASSERT_EQ(detach(sender), 0);
  send(sender, 2);
  EXPECT_EQ(poll_ids(2), (Ids{2, 22}));
  // Nothing else has come: what is sent to one comes after it.
  send(sender, 3, not_attached);
  EXPECT_EQ(poll_ids(2), (Ids{3, 40}));
  ASSERT_EQ(post_receive(without_receive, 50, 8000, 140), 0);
  send(sender, 4, without_receive);
  EXPECT_EQ(poll_ids(2), (Ids{4, 50}));
  for (ibv_qp* qp : {other, without_receive, with_another_key}) EXPECT_EQ(detach(qp), 0);
}

TEST_F(Groups, WhatIsAttachedTwiceIsSoOnce) {
  ibv_qp* const qp = create_datagrams();
  EXPECT_EQ(attach(qp), 0);
  EXPECT_EQ(attach(qp), 0);
  for (const std::uint64_t id : {11U, 12U}) ASSERT_EQ(post_receive(qp, id, 1000, 140), 0);
  send(qp, 1);
  EXPECT_EQ(poll_ids(2), (Ids{1, 11}));
  send(qp, 2, qp);
  EXPECT_EQ(poll_ids(2), (Ids{2, 12}));
  EXPECT_EQ(detach(qp), 0);
  EXPECT_EQ(detach(qp), EINVAL);
}

TEST_F(Groups, WhoIsAttachedIsNotDestroyed) {
  ibv_qp* const qp = create_datagrams();
  ASSERT_EQ(attach(qp), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  ASSERT_EQ(detach(qp), 0);
}

TEST_F(Groups, WhatIsNoGroupIsRefused) {
  ibv_qp* const qp = create_datagrams();
  ibv_gid gid = group_gid();
  EXPECT_EQ(ibv_attach_mcast(create(), &gid, group_lid), EINVAL) << "of a connected one";
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, 1), EINVAL) << "a LID of a port";
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, 0xffff), EINVAL);
  gid.raw[0] = 0xfe;
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, group_lid), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(qp, &gid, group_lid), EINVAL);
  EXPECT_EQ(detach(qp), EINVAL) << "it is not attached";
}

TEST_F(Groups, ThereIsRoomForAsManyAsTheDeviceSays) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context, &device), 0);
  ASSERT_GT(device.max_mcast_grp, 0);
  EXPECT_GT(device.max_mcast_qp_attach, 0);
  EXPECT_GT(device.max_total_mcast_qp_attach, 0);
  ibv_qp* const qp = create_datagrams();
  const auto of_number = [](int number) {
    ibv_gid gid = group_gid();
    std::memcpy(&gid.raw[8], &number, sizeof(number));
    return gid;
  };
  for (int i = 0; i <= device.max_mcast_grp; ++i) {
    const ibv_gid gid = of_number(i);
    ASSERT_EQ(ibv_attach_mcast(qp, &gid, group_lid), i < device.max_mcast_grp ? 0 : ENOMEM) << i;
  }
  for (int i = 0; i < device.max_mcast_grp; ++i) {
    const ibv_gid gid = of_number(i);
    ASSERT_EQ(ibv_detach_mcast(qp, &gid, group_lid), 0);
  }
}

TEST_F(Verbs, AllMemoryByOneKeyIsRefused) {
  EXPECT_EQ(ibv_reg_mr(domain, nullptr, SIZE_MAX, access | IBV_ACCESS_ON_DEMAND), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

// A child has no device, says so, and ends in peace.
TEST_F(Verbs, AChildHasLostTheDevice) {
  const auto [a, b] = create_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    ibv_wc completion{};
    const bool is_right = ibv_get_device_list(nullptr) == nullptr && errno == ENODEV &&
                          ibv_poll_cq(completions, 1, &completion) < 0 &&
                          post_send(a, 1, 0, 1) == ENODEV && ibv_dereg_mr(region) == 0;
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(post_receive(b, 1, 1000, 100), 0);
  ASSERT_EQ(post_send(a, 2, 0, 100), 0);
  EXPECT_EQ(poll_ids(2), (Ids{1, 2}));
}

constexpr std::size_t page_bytes = 4096;

void* map_page(void* at = nullptr) {
  return ::mmap(at, page_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
}

TEST_F(Verbs, AStaleKeyReachesOtherMemoryUnlessTheModeIsStrict) {
  const auto [a, b] = create_pair();
  ibv_mr* const page = ibv_reg_mr(domain, map_page(), page_bytes, access);
  ram[0] = 'x';
  ::munmap(page->addr, page_bytes);
  ASSERT_EQ(map_page(page->addr), page->addr);
  EXPECT_EQ(write(a, region, page), IBV_WC_SUCCESS);
  EXPECT_EQ(*static_cast<char*>(page->addr), 'x');
  EXPECT_EQ(ibv_dereg_mr(page), 0);
}

/// In a process of its own, as the mode is that of a process.
class StrictVerbs : public Verbs {
 protected:
  void SetUp() override {
    ::setenv("SOFTRDMA_STRICT", "1", 1);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Verbs::SetUp();
  }
  void TearDown() override {
    ::unsetenv("SOFTRDMA_STRICT");
    Verbs::TearDown();
  }
  [[noreturn]] static void end() { std::_Exit(HasFailure() ? 1 : 0); }
  ibv_mr* register_page(int more = 0) {
    return ibv_reg_mr(domain, map_page(), page_bytes, access | more);
  }
  const testing::ExitedWithCode succeeded{0};
};

TEST_F(StrictVerbs, APeerDoesNotReachOtherMemory) {
  const auto scenario = [this] {
    const auto [a, b] = create_pair();
    ibv_mr* const page = register_page();
    EXPECT_EQ(write(a, region, page), IBV_WC_SUCCESS);
    ::munmap(page->addr, page_bytes);
    map_page(page->addr);
    EXPECT_EQ(write(a, region, page), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(*static_cast<char*>(page->addr), 0);
    end();
  };
  EXPECT_EXIT(scenario(), succeeded,
              "softrdma: process [0-9]+, strict mode: an access to 8 bytes at .* unmapped after");
}

TEST_F(StrictVerbs, NorDoesAnAccessOfItsOwnUntilItIsRegisteredAgain) {
  const auto scenario = [this] {
    const auto [a, b] = create_pair();
    ibv_mr* const page = register_page();
    ::madvise(page->addr, page_bytes, MADV_DONTNEED);
    ibv_mr* const again = ibv_reg_mr(domain, page->addr, page_bytes, access);
    EXPECT_EQ(write(a, again, region), IBV_WC_SUCCESS);
    EXPECT_EQ(write(a, page, region), IBV_WC_LOC_PROT_ERR);
    end();
  };
  EXPECT_EXIT(scenario(), succeeded, "discarded by madvise after it was registered");
}

TEST_F(StrictVerbs, WhatIsRegisteredAnewInPlaceOrPagedOnDemandIsGood) {
  const auto scenario = [this] {
    const auto [a, b] = create_pair();
    ibv_mr* const page = register_page();
    ibv_mr* const paged = register_page(IBV_ACCESS_ON_DEMAND);
    for (ibv_mr* changed : {page, paged}) ::madvise(changed->addr, page_bytes, MADV_DONTNEED);
    EXPECT_EQ(write(a, paged, region), IBV_WC_SUCCESS);
    EXPECT_EQ(
        ibv_rereg_mr(page, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, page->addr, page_bytes, 0), 0);
    EXPECT_EQ(write(a, page, region), IBV_WC_SUCCESS);
    end();
  };
  EXPECT_EXIT(scenario(), succeeded, "^$");
}

// Threads that get one another's addresses, while the device is driven.
TEST_F(StrictVerbs, WhoRegistersWhatItMapsIsNotDisturbed) {
  const auto scenario = [this] {
    constexpr unsigned limit_s = 60;
    ::alarm(limit_s);
    const auto [a, b] = create_pair();
    std::atomic<bool> is_over = false;
    const auto register_and_unmap = [&] {
      while (!is_over) {
        ibv_mr* const page = register_page();
        void* const memory = page->addr;
        EXPECT_EQ(ibv_dereg_mr(page), 0);
        ::munmap(memory, page_bytes);
      }
    };
    std::thread first(register_and_unmap);
    std::thread second(register_and_unmap);
    for (int i = 0; i < 1000; ++i) {
      ibv_mr* const page = register_page();
      EXPECT_EQ(write(a, page, region), IBV_WC_SUCCESS);
      EXPECT_EQ(write(a, region, page), IBV_WC_SUCCESS);
      ::munmap(page->addr, page_bytes);
      EXPECT_EQ(ibv_dereg_mr(page), 0);
    }
    is_over = true;
    first.join();
    second.join();
    end();
  };
  EXPECT_EXIT(scenario(), succeeded, "^$");
}

TEST_F(StrictVerbs, AChildUnmapsAsItLikes) {
  const auto scenario = [this] {
    const auto [a, b] = create_pair();
    ibv_mr* const page = register_page();
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr unsigned limit_s = 20;
      ::alarm(limit_s);
      ::munmap(page->addr, page_bytes);
      ::_exit(ibv_dereg_mr(page));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(write(a, region, page), IBV_WC_SUCCESS);
    end();
  };
  EXPECT_EXIT(scenario(), succeeded, "^$");
}

}  // namespace
}  // namespace softrdma::verbs
