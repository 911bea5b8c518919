#include "softrdma/qp/transitions.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "softrdma/qp/test_masks.hpp"

namespace softrdma::qp {
namespace {

bool is_ok(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  return check_transition(type, from, to, mask).ok();
}

TEST(Transitions, ARcQueuePairComesUp) {
  EXPECT_TRUE(is_ok(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, connected_to_init));
  EXPECT_TRUE(is_ok(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, rc_to_rtr));
  EXPECT_TRUE(is_ok(IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, rc_to_rts));
}

TEST(Transitions, EveryRequiredAttributeIsMissed) {
  for (const auto& [from, to, mask] : {std::tuple{IBV_QPS_RESET, IBV_QPS_INIT, connected_to_init},
                                       std::tuple{IBV_QPS_INIT, IBV_QPS_RTR, rc_to_rtr},
                                       std::tuple{IBV_QPS_RTR, IBV_QPS_RTS, rc_to_rts}}) {
    for (int bit = 1; bit <= mask; bit <<= 1) {
      if ((mask & bit) == 0 || bit == IBV_QP_STATE) continue;
      EXPECT_EQ(check_transition(IBV_QPT_RC, from, to, mask & ~bit).missing, bit);
    }
  }
}

TEST(Transitions, WhatIsNotAllowedIsNamed) {
  const TransitionCheck check =
      check_transition(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, connected_to_init | IBV_QP_QKEY);
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(check.excess, IBV_QP_QKEY);
}

TEST(Transitions, ADatagramQueuePairHasAQueueKeyAndNoRoute) {
  EXPECT_TRUE(is_ok(IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, ud_to_init));
  EXPECT_TRUE(is_ok(IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE));
  EXPECT_FALSE(is_ok(IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV));
  EXPECT_TRUE(is_ok(IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, unreliable_to_rts));
}

TEST(Transitions, FromEverywhereToResetAndError) {
  for (const ibv_qp_type type :
       {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV})
    for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; ++from)
      for (const ibv_qp_state to : {IBV_QPS_RESET, IBV_QPS_ERR}) {
        EXPECT_TRUE(is_ok(type, static_cast<ibv_qp_state>(from), to, IBV_QP_STATE));
        EXPECT_FALSE(is_ok(type, static_cast<ibv_qp_state>(from), to, IBV_QP_STATE | IBV_QP_AV));
      }
}

TEST(Transitions, NoShortCuts) {
  constexpr int everything = 0x1fffff;
  EXPECT_FALSE(check_transition(IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_RTR, everything).exists);
  EXPECT_FALSE(check_transition(IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTS, everything).exists);
  EXPECT_FALSE(check_transition(IBV_QPT_RC, IBV_QPS_ERR, IBV_QPS_RTS, everything).exists);
  EXPECT_FALSE(check_transition(IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQE, everything).exists);
}

TEST(Transitions, TheSendQueueErrorStateIsLeftOnlyWithoutAcknowledgements) {
  EXPECT_TRUE(is_ok(IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE));
  EXPECT_TRUE(is_ok(IBV_QPT_UC, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE));
  EXPECT_FALSE(is_ok(IBV_QPT_RC, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE));
}

TEST(Transitions, AnUnknownTypeHasNone) {
  EXPECT_FALSE(
      check_transition(IBV_QPT_RAW_PACKET, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE).exists);
}

}  // namespace
}  // namespace softrdma::qp
