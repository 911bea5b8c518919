#include "core/request/composite_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hawser::core {
namespace {

class Part : public Request {
 public:
  using Request::fail;
  using Request::mutable_status;
  using Request::Request;
  using Request::set_complete;
};

Ref<Part> make_part() { return base::make_ref<Part>(RequestKind::receive); }

Status finish(Request& request) {
  Status status = request.status();
  request.finish_status(status);
  return status;
}

TEST(CompositeRequest, WithoutPartsIsCompleteFromTheStart) {
  CompositeRequest request(RequestKind::send, nullptr, {});
  EXPECT_TRUE(request.is_complete());
  EXPECT_EQ(request.kind(), RequestKind::send);
  EXPECT_EQ(finish(request).source, -1);
}

TEST(CompositeRequest, CompletesWithTheLastOfItsPartsInAnyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Ref<Part>> parts(1 + random() % 9);
    for (auto& part : parts) part = make_part();
    std::vector<Ref<Request>> as_requests(parts.begin(), parts.end());
    if (round % 3 == 0) as_requests.push_back(nullptr);
    CompositeRequest request(RequestKind::composite, nullptr, as_requests);
    std::shuffle(parts.begin(), parts.end(), random);
    for (const auto& part : parts) {
      EXPECT_FALSE(request.is_complete());
      part->set_complete();
    }
    EXPECT_TRUE(request.is_complete());
  }
}

TEST(CompositeRequest, HasTheStatusOfOnePartAndTheErrorOfAny) {
  const auto receive = make_part();
  const auto send = make_part();
  receive->mutable_status().bytes = 12;
  send->fail({ErrorClass::truncate, "too long"});
  receive->set_complete();
  send->set_complete();
  const auto owner = make_part();
  CompositeRequest request(RequestKind::composite, owner, {receive, send}, 0);
  EXPECT_EQ(request.error_object(), owner.get());
  for (int again = 0; again < 2; ++again) {
    const Status status = finish(request);
    EXPECT_EQ(status.bytes, 12);
    EXPECT_EQ(status.error, static_cast<int>(ErrorClass::truncate));
    ASSERT_NE(request.error(), nullptr);
    EXPECT_EQ(request.error()->sentence(), "too long");
  }
}

TEST(CompositeRequest, PrefersTheErrorOfThePartThatHasTheStatus) {
  const auto first = make_part();
  const auto second = make_part();
  first->fail({ErrorClass::other, "first"});
  second->fail({ErrorClass::truncate, "second"});
  first->set_complete();
  second->set_complete();
  CompositeRequest request(RequestKind::composite, nullptr, {first, second}, 1);
  finish(request);
  EXPECT_EQ(request.error()->sentence(), "second");
}

}  // namespace
}  // namespace hawser::core
