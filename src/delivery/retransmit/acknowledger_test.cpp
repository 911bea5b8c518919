#include "delivery/retransmit/acknowledger.hpp"

#include <gtest/gtest.h>

namespace hawser::delivery {
namespace {

constexpr std::uint64_t now_ns = 1000;

TEST(Acknowledger, SpeaksAfterSoManyFramesOrSomeTime) {
  Acknowledger acknowledger({.frames = 3, .delay_ns = 500});
  EXPECT_EQ(acknowledger.deadline_ns(), never_ns);
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), now_ns + 500);
  acknowledger.on_delivered(now_ns, 8);
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U);
  acknowledger.on_sent();
  EXPECT_EQ(acknowledger.deadline_ns(), never_ns);
}

TEST(Acknowledger, ANarrowWindowIsNotLeftToClose) {
  Acknowledger acknowledger({.frames = 8, .delay_ns = 500});
  acknowledger.follow(4);
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), now_ns + 500);
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U) << "half of the window";
  acknowledger.on_sent();
  acknowledger.follow(1);
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U);
  acknowledger.on_sent();
  acknowledger.follow(1000);
  for (int i = 0; i < 7; ++i) acknowledger.on_delivered(now_ns, 8);
  EXPECT_NE(acknowledger.deadline_ns(), 0U) << "a wide window changes nothing";
  acknowledger.on_delivered(now_ns, 8);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U);
}

}  // namespace
}  // namespace hawser::delivery
