// What the responder does not allow, and what the ends of a connection say of it.
#include "softrdma/qp/connection_ends.hpp"

namespace softrdma::qp::connected {
namespace {

struct Refusal {
  const char* what;
  ibv_wr_opcode opcode;
  std::uint32_t remote_offset;
  std::uint32_t bytes;
  std::uint32_t key_change;
  unsigned access;
  ibv_wc_status status;
  ibv_event_type event;
};

class Refused : public Connection, public testing::WithParamInterface<Refusal> {};

TEST_P(Refused, WithTheRightStatusAndNothingIsTouched) {
  const Refusal& refusal = GetParam();
  const Bytes before = b.ram;
  b.context.access = refusal.access;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 0, b, 0);
  SendWork& bad = a.add_remote(refusal.opcode, 0, refusal.bytes, b, refusal.remote_offset);
  bad.remote_key ^= refusal.key_change;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_SUCCESS, refusal.status, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(b.event, refusal.event);
  EXPECT_EQ(b.ram, before);
}

constexpr unsigned all_rights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
INSTANTIATE_TEST_SUITE_P(
    Requests, Refused,
    testing::Values(Refusal{"WriteBehindTheEnd", IBV_WR_RDMA_WRITE, memory_bytes - 8, 9, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"LongWriteBehindTheEnd", IBV_WR_RDMA_WRITE, memory_bytes - 500, 501, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"WriteWithAWrongKey", IBV_WR_RDMA_WRITE, 0, 9, 4, all_rights,
                            IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"ReadBehindTheEnd", IBV_WR_RDMA_READ, memory_bytes - 8, 9, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"AtomicOutOfLine", IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 8, 0, all_rights,
                            IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
                    Refusal{"AtomicWithoutTheRight", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8, 0,
                            IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_ACCESS_ERR,
                            IBV_EVENT_QP_ACCESS_ERR}),
    [](const auto& tested) { return tested.param.what; });

TEST_F(Connection, AMessageLongerThanItsReceiveEndsBoth) {
  b.add_receive(0, 99);
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_INV_REQ_ERR}));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(Connection, AReceiveWithAWrongKeyEndsBoth) {
  b.add_receive(0, 100);
  b.receives.entries(b.receives.front())[0].lkey ^= 1;
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_OP_ERR}));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Connection, ASendWithAWrongKeyEndsAfterWhatCameBefore) {
  for (int i = 0; i < 3; ++i) b.add_receive(0, 100);
  a.add(IBV_WR_SEND, 0, 100);
  a.sends.entries(a.add(IBV_WR_SEND, 0, 100))[0].lkey ^= 1;
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(b.received.size(), 1U);
}

TEST_F(Connection, AReadThatMayNotBeStoredEndsIt) {
  a.sends.entries(a.add_remote(IBV_WR_RDMA_READ, 0, 100, b, 0))[0].lkey ^= 1;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_LOC_PROT_ERR}));
}

TEST_F(Connection, AWriteToAQueuePairThatAllowsNoneIsRefused) {
  b.context.access = IBV_ACCESS_REMOTE_READ;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_ACCESS_ERR}));
  EXPECT_EQ(b.event, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(Connection, AReadWithoutAnyAllowedFails) {
  a.context.reads_max = 0;
  a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_LOC_QP_OP_ERR}));
}

}  // namespace
}  // namespace softrdma::qp::connected
