#include "softrdma/queue/completion_queue.hpp"

#include <gtest/gtest.h>

namespace softrdma::queue {
namespace {

class CountsEvents final : public CompletionListener {
 public:
  void on_completion_event() override { ++events; }
  void on_overrun() override { ++overruns; }
  int events = 0;
  int overruns = 0;
};

Completion completion(std::uint64_t id, bool solicited = false,
                      ibv_wc_status status = IBV_WC_SUCCESS, std::uint32_t qp = 1) {
  Completion out;
  out.wc.wr_id = id;
  out.wc.status = status;
  out.wc.qp_num = qp;
  out.solicited = solicited;
  return out;
}

class Queue : public testing::Test {
 protected:
  std::vector<std::uint64_t> poll_all() {
    std::vector<std::uint64_t> out;
    for (; !queue_.is_empty(); queue_.pop()) out.push_back(queue_.front().wc.wr_id);
    return out;
  }

  CountsEvents listener_;
  CompletionQueue queue_{4, listener_};
};

using Ids = std::vector<std::uint64_t>;

TEST_F(Queue, GivesWhatItGotInOrder) {
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(queue_.push(completion(10 * lap + i)));
    EXPECT_EQ(poll_all(), (Ids{10 * lap, 10 * lap + 1, 10 * lap + 2}));
  }
  EXPECT_EQ(listener_.events, 0);
}

TEST_F(Queue, OverrunsOnceAndForGood) {
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(queue_.push(completion(i)));
  EXPECT_FALSE(queue_.push(completion(4)));
  EXPECT_EQ(poll_all(), (Ids{0, 1, 2, 3}));
  EXPECT_FALSE(queue_.push(completion(5)));
  EXPECT_EQ(listener_.overruns, 1);
}

TEST_F(Queue, OneEventForOneArming) {
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 0);
  queue_.push(completion(1));
  queue_.push(completion(2));
  EXPECT_EQ(listener_.events, 1);
}

TEST_F(Queue, ArmingReportsWhatCameBefore) {
  queue_.push(completion(1));
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 1);
}

TEST_F(Queue, ArmingDoesNotReportTwice) {
  queue_.arm(false);
  queue_.push(completion(1));
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 1);
  queue_.push(completion(2));
  EXPECT_EQ(listener_.events, 2);
}

TEST_F(Queue, ArmingDoesNotReportWhatWasPolled) {
  queue_.push(completion(1));
  poll_all();
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 0);
}

TEST_F(Queue, SolicitedOnlyWaitsForThoseAndForFailures) {
  queue_.arm(true);
  queue_.push(completion(1));
  EXPECT_EQ(listener_.events, 0);
  queue_.push(completion(2, true));
  EXPECT_EQ(listener_.events, 1);
  queue_.arm(true);
  queue_.push(completion(3, false, IBV_WC_WR_FLUSH_ERR));
  EXPECT_EQ(listener_.events, 2);
}

TEST_F(Queue, SolicitedOnlyDoesNotTakeBackAny) {
  queue_.arm(false);
  queue_.arm(true);
  queue_.push(completion(1));
  EXPECT_EQ(listener_.events, 1);
}

TEST_F(Queue, ResizesWithWhatIsInIt) {
  for (std::uint64_t i = 0; i < 2; ++i) queue_.push(completion(i));
  queue_.pop();
  for (std::uint64_t i = 2; i < 5; ++i) queue_.push(completion(i));
  EXPECT_FALSE(queue_.resize(3));
  EXPECT_TRUE(queue_.resize(7));
  for (std::uint64_t i = 5; i < 8; ++i) EXPECT_TRUE(queue_.push(completion(i)));
  EXPECT_EQ(poll_all(), (Ids{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(Queue, ForgetsAQueuePair) {
  queue_.arm(false);
  queue_.push(completion(1, false, IBV_WC_SUCCESS, 1));
  queue_.push(completion(2, false, IBV_WC_SUCCESS, 2));
  queue_.push(completion(3, false, IBV_WC_SUCCESS, 1));
  queue_.push(completion(4, false, IBV_WC_SUCCESS, 2));
  queue_.remove_of(2);
  // The first was reported; the third was not.
  queue_.pop();
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 2);
  EXPECT_EQ(poll_all(), (Ids{3}));
}

TEST_F(Queue, WhatWasReportedStaysSoWhenOthersAreForgotten) {
  queue_.push(completion(1, false, IBV_WC_SUCCESS, 1));
  queue_.push(completion(2, false, IBV_WC_SUCCESS, 2));
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 1);
  queue_.remove_of(2);
  queue_.arm(false);
  EXPECT_EQ(listener_.events, 1);
  EXPECT_EQ(poll_all(), (Ids{1}));
}

}  // namespace
}  // namespace softrdma::queue
