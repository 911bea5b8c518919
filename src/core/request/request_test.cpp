#include "core/request/request.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hawser::core {
namespace {

class TestRequest : public Request {
 public:
  using Request::activate;
  using Request::fail;
  using Request::mutable_status;
  using Request::Request;
  using Request::set_complete;
  using Request::set_inactive;
};

TEST(Request, BeginsActiveAndIncompleteWithAnEmptyStatus) {
  const Ref<TestRequest> request = base::make_ref<TestRequest>(RequestKind::receive);
  EXPECT_TRUE(request->is_active());
  EXPECT_FALSE(request->is_complete());
  EXPECT_FALSE(request->is_persistent());
  EXPECT_EQ(request->error(), nullptr);
  EXPECT_EQ(request->error_object(), nullptr);
  EXPECT_EQ(request->status().source, -1);
  EXPECT_EQ(request->status().tag, -2);
  EXPECT_EQ(request->status().bytes, 0);
}

TEST(Request, IsLeftToThePeerForOneLifeOnly) {
  TestRequest request(RequestKind::send);
  EXPECT_FALSE(request.is_left_to_peer());
  request.leave_to_peer();
  EXPECT_TRUE(request.is_left_to_peer());
  request.activate();
  EXPECT_FALSE(request.is_left_to_peer());
}

TEST(Request, RefusesToStartOrCancelByDefault) {
  for (const RequestKind kind :
       {RequestKind::send, RequestKind::receive, RequestKind::collective, RequestKind::generalized,
        RequestKind::partitioned, RequestKind::composite}) {
    TestRequest request(kind);
    const auto started = request.start();
    const auto cancelled = request.cancel();
    ASSERT_FALSE(started.ok());
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(started.error().code(), static_cast<int>(ErrorClass::request));
    EXPECT_EQ(cancelled.error().code(), static_cast<int>(ErrorClass::request));
    EXPECT_FALSE(request.is_complete());
  }
  EXPECT_EQ(TestRequest(RequestKind::collective).cancel().error().sentence(),
            "the request is of a collective operation, which cannot be cancelled");
}

TEST(Request, FinishingLeavesTheStatusAsItIs) {
  TestRequest request(RequestKind::send);
  Status status{3, 4, 5, true, 6};
  request.finish_status(status);
  EXPECT_EQ(status.source, 3);
  EXPECT_EQ(status.tag, 4);
  EXPECT_EQ(status.error, 5);
  EXPECT_TRUE(status.cancelled);
  EXPECT_EQ(status.bytes, 6);
}

TEST(Request, ANewLifeForgetsTheOldOne) {
  TestRequest request(RequestKind::receive, true);
  request.set_inactive();
  EXPECT_FALSE(request.is_active());
  request.activate();
  request.mutable_status().tag = 9;
  request.fail(Error(ErrorClass::truncate, "8 bytes do not fit in 4"));
  request.set_complete();
  ASSERT_NE(request.error(), nullptr);
  EXPECT_EQ(request.status().error, static_cast<int>(ErrorClass::truncate));
  request.deactivate();
  EXPECT_FALSE(request.is_active());
  EXPECT_TRUE(request.is_complete());
  request.activate();
  EXPECT_TRUE(request.is_active());
  EXPECT_FALSE(request.is_complete());
  EXPECT_EQ(request.error(), nullptr);
  EXPECT_EQ(request.status().tag, -2);
}

TEST(Request, CompletionPublishesTheStatus) {
  const Ref<TestRequest> request = base::make_ref<TestRequest>(RequestKind::receive);
  std::thread engine([request] {
    request->mutable_status().bytes = 42;
    request->set_complete();
  });
  while (!request->is_complete()) std::this_thread::yield();
  EXPECT_EQ(request->status().bytes, 42);
  engine.join();
}

}  // namespace
}  // namespace hawser::core
