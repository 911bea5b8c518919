#include "softrdma/queue/shared_receive_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace softrdma::queue {
namespace {

class CountsLimits final : public LimitListener {
 public:
  void on_limit_reached() override { ++events; }
  int events = 0;
};

class Shared : public testing::Test {
 protected:
  void post(std::uint64_t id) {
    ReceiveWork& work = queue_.ring().next();
    work = {.id = id, .entries = 1};
    queue_.ring().entries(work)[0] = {.addr = id, .length = 1, .lkey = 0};
    queue_.ring().push();
  }
  std::uint64_t take() {
    const std::uint64_t id = queue_.ring().front().id;
    EXPECT_EQ(queue_.ring().entries(queue_.ring().front())[0].addr, id);
    queue_.pop();
    return id;
  }

  CountsLimits listener_;
  SharedReceiveQueue queue_{4, 1, listener_};
};

TEST_F(Shared, TheLimitIsToldOnce) {
  for (std::uint64_t id = 0; id < 4; ++id) post(id);
  queue_.set_limit(3);
  take();
  EXPECT_EQ(listener_.events, 0);
  take();
  EXPECT_EQ(listener_.events, 1);
  EXPECT_EQ(queue_.limit(), 0U);
  take();
  EXPECT_EQ(listener_.events, 1);
}

TEST_F(Shared, ALimitThatIsPassedAlreadyIsToldAtOnce) {
  post(1);
  queue_.set_limit(2);
  EXPECT_EQ(listener_.events, 1);
}

TEST_F(Shared, ResizesWithWhatIsInIt) {
  for (std::uint64_t id = 0; id < 3; ++id) post(id);
  take();
  post(3);
  EXPECT_FALSE(queue_.resize(2));
  EXPECT_TRUE(queue_.resize(9));
  for (std::uint64_t id = 4; id < 10; ++id) post(id);
  EXPECT_TRUE(queue_.ring().is_full());
  for (std::uint64_t id = 1; id < 10; ++id) EXPECT_EQ(take(), id);
}

}  // namespace
}  // namespace softrdma::queue
