#include "softrdma/qp/queue_pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "softrdma/qp/test_masks.hpp"

namespace softrdma::qp {
namespace {

using queue::CompletionQueue;
using queue::SharedReceiveQueue;

constexpr std::uint32_t adapter_domain = 5;
constexpr std::uint32_t queue_key = 0x1234;
constexpr std::uint32_t xrc_domain = 9;
constexpr std::uint32_t target_number = 5;

/// An adapter with one queue pair.
class Adapter final : public QueuePairHost, queue::CompletionListener, queue::LimitListener {
 public:
  Adapter(std::uint32_t number, ibv_qp_type type, bool shares_receives = false,
          std::uint32_t completions_max = 16)
      : completions(completions_max, *this) {
    QueuePairParts parts;
    parts.number = number;
    parts.domain = adapter_domain;
    parts.type = type;
    parts.cap = {.max_send_wr = 4,
                 .max_recv_wr = 4,
                 .max_send_sge = 2,
                 .max_recv_sge = 2,
                 .max_inline_data = 16};
    parts.send_completions = parts.receive_completions = &completions;
    if (shares_receives) parts.shared_receives = &shared;
    parts.xrc_domain = xrc_domain;
    queue_pair = std::make_unique<QueuePair>(parts, regions, *this);
    key = *regions.insert({.address = reinterpret_cast<std::uint64_t>(ram.data()),
                           .bytes = ram.size(),
                           .memory = ram.data(),
                           .domain = adapter_domain,
                           .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  }

  int bring_up(std::uint32_t peer) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    attributes.qkey = queue_key;
    attributes.path_mtu = IBV_MTU_256;
    attributes.dest_qp_num = peer;
    attributes.timeout = 14;
    attributes.retry_cnt = 3;
    attributes.rnr_retry = 7;
    attributes.port_num = 1;
    const ibv_qp_type type = queue_pair->type();
    const bool is_rc = type != IBV_QPT_UC && type != IBV_QPT_UD;
    const bool is_ud = type == IBV_QPT_UD;
    attributes.qp_state = IBV_QPS_INIT;
    int failed = queue_pair->modify(attributes, is_ud ? ud_to_init : connected_to_init);
    attributes.qp_state = IBV_QPS_RTR;
    if (type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV)
      return failed | bring_up_xrc(attributes);
    failed |= queue_pair->modify(attributes, is_ud ? IBV_QP_STATE : is_rc ? rc_to_rtr : uc_to_rtr);
    attributes.qp_state = IBV_QPS_RTS;
    return failed | queue_pair->modify(attributes, is_rc ? rc_to_rts : unreliable_to_rts);
  }
  int bring_up_xrc(ibv_qp_attr& attributes) {
    const bool sends = queue_pair->type() == IBV_QPT_XRC_SEND;
    const int failed = queue_pair->modify(attributes, sends ? uc_to_rtr : rc_to_rtr);
    attributes.qp_state = IBV_QPS_RTS;
    return failed |
           queue_pair->modify(attributes, sends ? rc_to_rts : unreliable_to_rts | IBV_QP_TIMEOUT);
  }
  int move_to(ibv_qp_state state, int mask = 0) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    attributes.en_sqd_async_notify = 1;
    return queue_pair->modify(attributes, IBV_QP_STATE | mask);
  }

  ibv_sge entry(std::size_t offset, std::uint32_t bytes) {
    return {
        .addr = reinterpret_cast<std::uint64_t>(ram.data() + offset), .length = bytes, .lkey = key};
  }
  int send(std::uint32_t bytes, std::uint32_t peer = 0, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_sge from = entry(0, bytes);
    ibv_send_wr request{};
    request.wr_id = next_id++;
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = flags;
    request.wr.ud.remote_qpn = peer;
    request.wr.ud.remote_qkey = queue_key;
    const ibv_ah_attr address{};
    return queue_pair->post_send(request, queue_pair->type() == IBV_QPT_UD ? &address : nullptr);
  }
  int receive(std::uint32_t bytes) {
    ibv_sge to = entry(512, bytes);
    const ibv_recv_wr request{.wr_id = next_id++, .next = nullptr, .sg_list = &to, .num_sge = 1};
    return queue_pair->post_receive(request);
  }
  std::vector<ibv_wc> poll() {
    std::vector<ibv_wc> out;
    for (; !completions.is_empty(); completions.pop()) out.push_back(completions.front().wc);
    return out;
  }
  std::vector<ibv_wc_status> poll_statuses() {
    std::vector<ibv_wc_status> out;
    for (const ibv_wc& wc : poll()) out.push_back(wc.status);
    return out;
  }

  void raise(QueuePair&, ibv_event_type event) override { events.push_back(event); }
  std::optional<Path> path_to(const ibv_ah_attr& address, ibv_mtu mtu) override {
    if (address.dlid == 0xffff) return std::nullopt;
    return Path{
        .segment_bytes = 128U << mtu, .unreliable_segment_bytes = 128U << mtu, .window_packets = 8};
  }
  std::uint32_t datagram_bytes_max(std::uint8_t) override { return 256; }
  ibv_wc_status bind(QueuePair&, const queue::BindWork&) override { return IBV_WC_MW_BIND_ERR; }
  bool invalidate(QueuePair&, std::uint32_t invalidated) override {
    return regions.erase(invalidated);
  }
  void withdraw_payloads() override {}
  const ReceiveTarget* receive_target(std::uint32_t number) override {
    return number == target_number ? &target : nullptr;
  }
  std::uint64_t now_ns() override { return 1; }
  void on_completion_event() override {}
  void on_overrun() override { ++overruns; }
  void on_limit_reached() override {}

  memory::RegionTable regions{1};
  std::vector<std::byte> ram = std::vector<std::byte>(1024);
  std::uint32_t key = 0;
  CompletionQueue completions;
  SharedReceiveQueue shared{4, 2, *this};
  ReceiveTarget target{&shared, &completions, adapter_domain, xrc_domain};
  std::vector<ibv_event_type> events;
  int overruns = 0;
  std::uint64_t next_id = 1;
  std::unique_ptr<QueuePair> queue_pair;
};

/// Carries packets until there are none.
void run(Adapter& a, Adapter& b) {
  Outgoing out;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (!from->queue_pair->next(1, &out)) continue;
      moved = true;
      std::vector<std::byte> payload;
      out.payload.append_to(&payload);
      Arrival arrival;
      arrival.packet = {out.headers, *wire::shape_of(out.headers.opcode), payload};
      to->queue_pair->on_arrival(arrival, 1);
    }
  }
}

/// One sends to the other's receive queues.
class Xrc : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(a.bring_up(2), 0);
    ASSERT_EQ(b.bring_up(1), 0);
    ibv_sge to = b.entry(512, 200);
    const ibv_recv_wr receive{.wr_id = 77, .next = nullptr, .sg_list = &to, .num_sge = 1};
    ASSERT_EQ(b.shared.ring().post(receive), 0);
  }
  void send(std::uint32_t receive_queue) { post(IBV_WR_SEND, receive_queue, 0); }
  void post(ibv_wr_opcode opcode, std::uint32_t receive_queue, std::uint32_t remote_key) {
    ibv_sge from = a.entry(0, 100);
    ibv_send_wr request{};
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(b.ram.data()),
                       .rkey = remote_key};
    request.qp_type.xrc.remote_srqn = receive_queue;
    ASSERT_EQ(a.queue_pair->post_send(request, nullptr), 0);
    run(a, b);
  }
  Adapter a{1, IBV_QPT_XRC_SEND};
  Adapter b{2, IBV_QPT_XRC_RECV};
};

TEST_F(Xrc, AMessageGoesToTheQueueThatItNames) {
  send(target_number);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_SUCCESS});
  const auto received = b.poll();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].wr_id, 77U);
  EXPECT_EQ(received[0].byte_len, 100U);
  EXPECT_EQ(received[0].qp_num, 2U);
}

TEST_F(Xrc, AQueueThatDoesNotExistIsAnInvalidRequest) {
  send(target_number + 1);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_REM_INV_REQ_ERR});
  EXPECT_EQ(b.events, std::vector{IBV_EVENT_QP_REQ_ERR});
  EXPECT_TRUE(b.poll().empty());
}

TEST_F(Xrc, AQueueOfAnotherXrcDomainIsNotReached) {
  b.target.xrc_domain = xrc_domain + 1;
  send(target_number);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_REM_INV_REQ_ERR});
}

TEST_F(Xrc, TheQueueTellsTheDomainOfProtection) {
  post(IBV_WR_RDMA_WRITE, target_number, b.key);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_SUCCESS});
  b.target.domain = adapter_domain + 1;
  post(IBV_WR_RDMA_WRITE, target_number, b.key);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_REM_ACCESS_ERR});
}

TEST_F(Xrc, AttributesOfTheOtherHalfAreIgnored) {
  for (Adapter* end : {&a, &b}) {
    ibv_qp_attr attributes{};
    ASSERT_EQ(end->move_to(IBV_QPS_RESET), 0);
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    ASSERT_EQ(end->queue_pair->modify(attributes, connected_to_init), 0);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_256;
    EXPECT_EQ(end->queue_pair->modify(attributes, rc_to_rtr), 0);
    attributes.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(end->queue_pair->modify(attributes, rc_to_rts), 0);
  }
}

TEST_F(Xrc, TheTargetTakesNoWork) {
  EXPECT_EQ(b.send(10), EINVAL);
  EXPECT_EQ(b.receive(10), EINVAL);
  EXPECT_EQ(a.receive(10), EINVAL);
}

class Pair : public testing::TestWithParam<ibv_qp_type> {
 protected:
  void SetUp() override {
    ASSERT_EQ(a.bring_up(2), 0);
    ASSERT_EQ(b.bring_up(1), 0);
  }
  Adapter a{1, GetParam()};
  Adapter b{2, GetParam()};
};

TEST_P(Pair, AMessageCompletesOnBothSides) {
  const bool is_datagram = GetParam() == IBV_QPT_UD;
  const std::uint32_t before = is_datagram ? grh_bytes : 0;
  std::ranges::fill(a.ram, std::byte{7});
  ASSERT_EQ(b.receive(200), 0);
  ASSERT_EQ(a.send(100, 2), 0);
  run(a, b);
  const auto sent = a.poll();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent[0].opcode, IBV_WC_SEND);
  EXPECT_EQ(sent[0].qp_num, 1U);
  const auto received = b.poll();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(received[0].byte_len, 100 + before);
  EXPECT_EQ(received[0].src_qp, is_datagram ? 1U : 0U);
  EXPECT_TRUE(std::all_of(b.ram.begin() + 512 + before, b.ram.begin() + 612 + before,
                          [](std::byte byte) { return byte == std::byte{7}; }));
  EXPECT_EQ(b.ram[612 + before], std::byte{0});
}

TEST_P(Pair, UnsignalledWorkCompletesInSilence) {
  ASSERT_EQ(b.receive(200), 0);
  ASSERT_EQ(a.send(100, 2, 0), 0);
  run(a, b);
  EXPECT_TRUE(a.poll().empty());
  EXPECT_EQ(b.poll().size(), 1U);
}

TEST_P(Pair, AQueueTakesWhatItWasMadeFor) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(b.receive(200), 0);
    EXPECT_EQ(a.send(100, 2), 0);
  }
  EXPECT_EQ(b.receive(200), ENOMEM);
  EXPECT_EQ(a.send(100, 2), ENOMEM);
  EXPECT_EQ(a.send(17, 2, IBV_SEND_INLINE), EINVAL);
}

TEST_P(Pair, InErrorEverythingIsFlushed) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(a.receive(200), 0);
    ASSERT_EQ(a.send(100, 2, 0), 0);
  }
  ASSERT_EQ(a.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(a.poll_statuses(), std::vector(4, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(a.receive(200), 0);
  EXPECT_EQ(a.send(100, 2), 0);
  EXPECT_EQ(a.poll_statuses(), std::vector(2, IBV_WC_WR_FLUSH_ERR));
}

TEST_P(Pair, ResetForgetsEverything) {
  ASSERT_EQ(a.receive(200), 0);
  ASSERT_EQ(a.send(100, 2), 0);
  ASSERT_EQ(a.move_to(IBV_QPS_ERR), 0);
  ASSERT_EQ(a.move_to(IBV_QPS_RESET), 0);
  EXPECT_TRUE(a.poll().empty());
  EXPECT_EQ(a.receive(200), EINVAL);
  EXPECT_EQ(a.send(100, 2), EINVAL);
  ASSERT_EQ(a.bring_up(2), 0);
  ASSERT_EQ(b.move_to(IBV_QPS_RESET), 0);
  ASSERT_EQ(b.bring_up(1), 0);
  ASSERT_EQ(b.receive(200), 0);
  ASSERT_EQ(a.send(100, 2), 0);
  run(a, b);
  EXPECT_EQ(a.poll_statuses(), std::vector(1, IBV_WC_SUCCESS));
}

TEST_P(Pair, DrainedItSendsNothingNew) {
  ASSERT_EQ(b.receive(200), 0);
  ASSERT_EQ(a.move_to(IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  EXPECT_EQ(a.events, std::vector{IBV_EVENT_SQ_DRAINED});
  ASSERT_EQ(a.send(100, 2), 0);
  run(a, b);
  EXPECT_TRUE(b.poll().empty());
  ASSERT_EQ(a.move_to(IBV_QPS_RTS), 0);
  run(a, b);
  EXPECT_EQ(b.poll().size(), 1U);
}

TEST_P(Pair, AnOverrunIsFatal) {
  Adapter c{3, GetParam(), false, 1};
  ASSERT_EQ(c.bring_up(2), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(c.receive(200), 0);
  ASSERT_EQ(c.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(c.overruns, 1);
  EXPECT_EQ(c.poll().size(), 1U);
}

// The completion that is one too many ends what is still in the send queue.
TEST(QueuePair, AnOverrunBySendsLeavesTheSendQueueEmpty) {
  Adapter a{1, IBV_QPT_RC, false, 1};
  Adapter b{2, IBV_QPT_RC};
  ASSERT_EQ(a.bring_up(2), 0);
  ASSERT_EQ(b.bring_up(1), 0);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(b.receive(200), 0);
    ASSERT_EQ(a.send(100), 0);
  }
  run(a, b);
  EXPECT_EQ(a.overruns, 1);
  EXPECT_EQ(a.queue_pair->state(), IBV_QPS_ERR);
  EXPECT_EQ(a.queue_pair->free_sends(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Types, Pair, testing::Values(IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD),
                         [](const auto& tested) {
                           return tested.param == IBV_QPT_RC   ? "RC"
                                  : tested.param == IBV_QPT_UC ? "UC"
                                                               : "UD";
                         });

TEST(QueuePair, AsksForTheRightAttributes) {
  Adapter a{1, IBV_QPT_RC};
  EXPECT_EQ(a.move_to(IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(a.move_to(IBV_QPS_RTS), EINVAL);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(a.queue_pair->modify(attributes, connected_to_init), 0);
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.max_dest_rd_atomic = reads_limit + 1;
  EXPECT_EQ(a.queue_pair->modify(attributes, rc_to_rtr), EINVAL);
  attributes.max_dest_rd_atomic = reads_limit;
  attributes.ah_attr.dlid = 0xffff;
  EXPECT_EQ(a.queue_pair->modify(attributes, rc_to_rtr), EINVAL);
  attributes.ah_attr.dlid = 1;
  attributes.cur_qp_state = IBV_QPS_RTS;
  EXPECT_EQ(a.queue_pair->modify(attributes, rc_to_rtr | IBV_QP_CUR_STATE), EINVAL);
  EXPECT_EQ(a.queue_pair->modify(attributes, rc_to_rtr), 0);
  ibv_qp_attr found{};
  a.queue_pair->query(&found);
  EXPECT_EQ(found.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(found.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(found.cap.max_send_wr, 4U);
}

TEST(QueuePair, AWrongKeyStopsTheSendQueueOfADatagramQueuePairOnly) {
  Adapter a{1, IBV_QPT_UD};
  Adapter b{2, IBV_QPT_UD};
  ASSERT_EQ(a.bring_up(0), 0);
  ASSERT_EQ(b.bring_up(0), 0);
  a.key ^= 1;
  ASSERT_EQ(a.send(10, 2), 0);
  ASSERT_EQ(a.send(10, 2), 0);
  run(a, b);
  EXPECT_EQ(a.queue_pair->state(), IBV_QPS_SQE);
  EXPECT_EQ(a.poll_statuses(), (std::vector{IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR}));
  a.key ^= 1;
  ASSERT_EQ(a.receive(200), 0);
  ASSERT_EQ(b.send(10, 1), 0);
  run(a, b);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_SUCCESS});
  ASSERT_EQ(a.move_to(IBV_QPS_RTS), 0);
  ASSERT_EQ(b.receive(200), 0);
  ASSERT_EQ(a.send(10, 2), 0);
  run(a, b);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_SUCCESS});
}

TEST(QueuePair, DatagramsThatNobodyWantsAreDropped) {
  Adapter a{1, IBV_QPT_UD};
  Adapter b{2, IBV_QPT_UD};
  ASSERT_EQ(a.bring_up(0), 0);
  ASSERT_EQ(b.bring_up(0), 0);
  ASSERT_EQ(a.send(10, 2), 0);  // no receive
  run(a, b);
  ASSERT_EQ(b.receive(200), 0);
  ibv_qp_attr attributes{};
  attributes.qkey = queue_key + 1;
  ASSERT_EQ(b.queue_pair->modify(attributes, IBV_QP_QKEY), 0);
  ASSERT_EQ(a.send(10, 2), 0);  // another key
  run(a, b);
  EXPECT_TRUE(b.poll().empty());
  EXPECT_EQ(a.poll_statuses(), std::vector(2, IBV_WC_SUCCESS));
}

TEST(QueuePair, ADatagramLongerThanThePortAllowsFails) {
  Adapter a{1, IBV_QPT_UD};
  Adapter b{2, IBV_QPT_UD};
  ASSERT_EQ(a.bring_up(0), 0);
  ASSERT_EQ(a.send(257, 2), 0);
  run(a, b);
  EXPECT_EQ(a.poll_statuses(), std::vector{IBV_WC_LOC_LEN_ERR});
}

TEST(QueuePair, TheLastReceiveOfASharedQueueIsTold) {
  Adapter a{1, IBV_QPT_RC, true};
  ASSERT_EQ(a.bring_up(2), 0);
  EXPECT_EQ(a.receive(10), EINVAL);
  ASSERT_EQ(a.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(a.events, std::vector{IBV_EVENT_QP_LAST_WQE_REACHED});
}

TEST(QueuePair, TheFirstMessageTellsOneThatOnlyReceivesSoFar) {
  Adapter a{1, IBV_QPT_RC};
  Adapter b{2, IBV_QPT_RC};
  ASSERT_EQ(a.bring_up(2), 0);
  ibv_qp_attr attributes{};
  attributes.path_mtu = IBV_MTU_256;
  attributes.dest_qp_num = 1;
  attributes.qp_state = IBV_QPS_INIT;
  ASSERT_EQ(b.queue_pair->modify(attributes, connected_to_init), 0);
  attributes.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(b.queue_pair->modify(attributes, rc_to_rtr), 0);
  ASSERT_EQ(b.receive(100), 0);
  ASSERT_EQ(a.send(10), 0);
  run(a, b);
  EXPECT_EQ(b.events, std::vector{IBV_EVENT_COMM_EST});
}

TEST(QueuePair, ATypeTakesItsOwnWorkOnly) {
  Adapter a{1, IBV_QPT_UD};
  ASSERT_EQ(a.bring_up(0), 0);
  ibv_send_wr request{};
  const ibv_ah_attr address{};
  request.opcode = IBV_WR_RDMA_WRITE;
  EXPECT_EQ(a.queue_pair->post_send(request, &address), EINVAL);
  Adapter c{1, IBV_QPT_UC};
  ASSERT_EQ(c.bring_up(2), 0);
  EXPECT_EQ(c.queue_pair->post_send(request, nullptr), 0);
  request.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(c.queue_pair->post_send(request, nullptr), EINVAL);
}

// Ten thousand of them cost at most 20 MiB beside the queues that were asked for.
TEST(QueuePair, IsSmall) { EXPECT_LE(sizeof(QueuePair), 1536U); }

TEST(QueuePair, MarkedPacketsAreToldOfOnceInAWhile) {
  Adapter adapter(7, IBV_QPT_RC);
  ASSERT_EQ(adapter.bring_up(9), 0);
  Arrival arrival;
  arrival.packet.headers.opcode = {wire::Service::reliable_connection, wire::Operation::send_only};
  arrival.packet.shape = *wire::shape_of(arrival.packet.headers.opcode);
  const auto count_notices = [&](std::uint64_t now_ns) {
    Outgoing out;
    int count = 0;
    while (adapter.queue_pair->next(now_ns, &out))
      if (out.headers.opcode == wire::congestion_notification && out.headers.destination_qp == 9 &&
          out.payload.bytes() == 16)
        ++count;
    return count;
  };
  adapter.queue_pair->on_arrival(arrival, 1);
  EXPECT_EQ(count_notices(1), 0);
  arrival.is_marked = true;
  adapter.queue_pair->on_arrival(arrival, 2);
  adapter.queue_pair->on_arrival(arrival, 3);
  EXPECT_EQ(count_notices(3), 1);
  adapter.queue_pair->on_arrival(arrival, 2 + notice_interval_ns - 1);
  EXPECT_EQ(count_notices(2 + notice_interval_ns - 1), 0);
  adapter.queue_pair->on_arrival(arrival, 2 + notice_interval_ns);
  EXPECT_EQ(count_notices(2 + notice_interval_ns), 1);
}

TEST(QueuePair, ANoticeOfCongestionIsHeededFromThePeerAlone) {
  Adapter adapter(7, IBV_QPT_RC);
  ASSERT_EQ(adapter.bring_up(9), 0);
  Arrival arrival;
  arrival.packet.headers.opcode = wire::congestion_notification;
  arrival.packet.shape = *wire::shape_of(wire::congestion_notification);
  arrival.host = wire::Address{};
  EXPECT_FALSE(adapter.queue_pair->on_arrival(arrival, notice_interval_ns));
  EXPECT_EQ(adapter.queue_pair->counters().notices, 0U);
  arrival.host.reset();
  EXPECT_TRUE(adapter.queue_pair->on_arrival(arrival, notice_interval_ns));
  EXPECT_EQ(adapter.queue_pair->counters().notices, 1U);
}

}  // namespace
}  // namespace softrdma::qp
