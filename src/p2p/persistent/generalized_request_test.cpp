#include "p2p/persistent/generalized_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/support/manual_backend.hpp"
#include "tests/support/thread_backend.hpp"

namespace hawser::p2p {
namespace {

/// What the callbacks saw, one letter each: q, f, and c or C (complete).
struct Log {
  std::string calls;
  int code = 0;
  [[nodiscard]] GeneralizedCallbacks callbacks() {
    return {[this](Status& status) {
              calls += 'q';
              status.source = 5;
              status.bytes = 12;
              return code;
            },
            [this] {
              calls += 'f';
              return code;
            },
            [this](bool complete) {
              calls += complete ? 'C' : 'c';
              return code;
            }};
  }
};

TEST(GeneralizedRequest, QueryThenFree) {
  test::ManualProcess process;
  Log log;
  const auto request = base::make_ref<GeneralizedRequest>(process.engine, log.callbacks());
  EXPECT_FALSE(request->is_complete());
  EXPECT_TRUE(request->cancel().ok());
  EXPECT_TRUE(request->complete().ok());
  EXPECT_TRUE(request->is_complete());
  EXPECT_TRUE(request->cancel().ok());
  Status status;
  request->finish_status(status);
  EXPECT_EQ(status.source, 5);
  EXPECT_EQ(status.bytes, 12);
  EXPECT_TRUE(request->detach().ok());
  EXPECT_EQ(log.calls, "cCqf");
}

TEST(GeneralizedRequest, AFreedOneEndsWhenItIsCompleted) {
  test::ManualProcess process;
  Log log;
  auto request = base::make_ref<GeneralizedRequest>(process.engine, log.callbacks());
  EXPECT_TRUE(request->detach().ok());
  EXPECT_EQ(log.calls, "");
  GeneralizedRequest* const borrowed = request.get();
  EXPECT_TRUE(borrowed->complete().ok());
  EXPECT_EQ(log.calls, "f");
}

TEST(GeneralizedRequest, ReportsTheCodesOfItsCallbacks) {
  test::ManualProcess process;
  Log log;
  log.code = 99;
  const auto request = base::make_ref<GeneralizedRequest>(process.engine, log.callbacks());
  EXPECT_EQ(request->cancel().error().code(), 99);
  EXPECT_TRUE(request->complete().ok());
  EXPECT_EQ(request->complete().error().code(), static_cast<int>(base::ErrorClass::request));
  Status status;
  request->finish_status(status);
  EXPECT_EQ(status.error, 99);
  const auto freed = request->detach();
  ASSERT_FALSE(freed.ok());
  EXPECT_EQ(freed.error().sentence(),
            "the free function of the generalized request returned error code 99");
}

TEST(GeneralizedRequest, CompletionByAnotherThreadWakesTheSleeper) {
  for (int round = 0; round < 300; ++round) {
    test::run_ranks(1, true, [&](test::Rank& self) {
      self.engine.set_threaded(true);
      Log log;
      auto request = base::make_ref<GeneralizedRequest>(self.engine, log.callbacks());
      std::thread worker([request, round] {
        if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        EXPECT_TRUE(request->complete().ok());
      });
      self.engine.wait(*request);
      EXPECT_TRUE(request->detach().ok());
      worker.join();
      EXPECT_EQ(log.calls, "f");
    });
  }
}

}  // namespace
}  // namespace hawser::p2p
