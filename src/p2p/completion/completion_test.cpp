#include "p2p/completion/completion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/manual_backend.hpp"

namespace hawser::p2p {
namespace {

using base::Error;
using base::ErrorClass;
using test::ManualProcess;

constexpr int code_of(ErrorClass error_class) { return static_cast<int>(error_class); }

/// Counts what is done to it.
class TestRequest final : public test::ManualRequest {
 public:
  explicit TestRequest(bool persistent = false)
      : ManualRequest(core::RequestKind::receive, persistent) {}
  void finish_status(Status& status) override {
    ++finished;
    if (query_code != 0) status.error = query_code;
  }
  Result<void> detach() override {
    ++detached;
    if (detach_code != 0) return Error::from_code(detach_code, "free failed");
    return {};
  }
  int finished = 0;
  int detached = 0;
  int query_code = 0;
  int detach_code = 0;
};

Ref<TestRequest> make(bool persistent = false) { return base::make_ref<TestRequest>(persistent); }

bool is_empty(const Status& status) {
  return status.source == any_source && status.tag == any_tag && status.error == 0 &&
         !status.cancelled && status.bytes == 0;
}

class CompletionTest : public ::testing::Test {
 protected:
  ManualProcess process_;
  Engine& engine_ = process_.engine;
};

TEST_F(CompletionTest, NothingToCompleteGivesEmptyStatusesAtOnce) {
  const auto idle = make(true);
  idle->set_inactive();
  for (Request* nothing : {static_cast<Request*>(nullptr), static_cast<Request*>(idle.get())}) {
    const Status full{3, 4, 5, true, 6};
    Status status = full;
    EXPECT_TRUE(wait(engine_, nothing, &status).ok());
    EXPECT_TRUE(is_empty(status));
    EXPECT_TRUE(wait(engine_, nothing, nullptr).ok());
    status = full;
    EXPECT_TRUE(test(engine_, nothing, &status).flag);
    EXPECT_TRUE(is_empty(status));
    status = full;
    EXPECT_TRUE(get_status(engine_, nothing, &status).flag);
    EXPECT_TRUE(is_empty(status));

    std::vector<Request*> array(3, nothing);
    for (const auto any : {wait_any, test_any}) {
      for (const std::size_t length : {std::size_t{0}, array.size()}) {
        status = full;
        const AnyOutcome outcome = any(engine_, std::span(array).first(length), &status);
        EXPECT_TRUE(outcome.flag);
        EXPECT_EQ(outcome.index, undefined);
        EXPECT_TRUE(outcome.result.ok());
        EXPECT_TRUE(is_empty(status));
      }
    }
    std::vector<int> indices(3);
    std::vector<Status> statuses(3, full);
    EXPECT_EQ(wait_some(engine_, array, indices, statuses).count, undefined);
    EXPECT_EQ(test_some(engine_, array, indices, statuses).count, undefined);
    EXPECT_EQ(get_status_some(engine_, array, indices, statuses).count, undefined);
    for (const auto all : {wait_all, test_all}) {
      std::ranges::fill(statuses, full);
      EXPECT_TRUE(all(engine_, array, statuses).flag);
      EXPECT_TRUE(std::ranges::all_of(statuses, is_empty));
    }
    EXPECT_TRUE(wait_all(engine_, {}, {}).flag);
    EXPECT_EQ(array, std::vector<Request*>(3, nothing));
  }
  EXPECT_EQ(idle->finished, 0);
}

TEST_F(CompletionTest, OneIsWaitedForAndHandedOutOnce) {
  const auto request = make();
  process_.backend.on_progress = [&, round = 0]() mutable {
    if (++round == 5) request->finish({.source = 2, .tag = 9, .bytes = 8});
    return true;
  };
  Status status;
  EXPECT_TRUE(wait(engine_, request.get(), &status).ok());
  EXPECT_EQ(process_.backend.rounds, 5);
  EXPECT_EQ(status.source, 2);
  EXPECT_EQ(status.bytes, 8);
  EXPECT_EQ(request->finished, 1);
  EXPECT_EQ(request->detached, 1);
}

TEST_F(CompletionTest, ACompleteRequestNeedsNoProgress) {
  const auto request = make();
  request->finish();
  EXPECT_TRUE(wait(engine_, request.get(), nullptr).ok());
  EXPECT_EQ(process_.backend.rounds, 0);
}

TEST_F(CompletionTest, ATestMakesOneRoundOfProgress) {
  const auto request = make();
  EXPECT_FALSE(test(engine_, request.get(), nullptr).flag);
  EXPECT_EQ(process_.backend.rounds, 1);
  EXPECT_EQ(process_.waiter.relaxes, 1);
  process_.backend.on_progress = [&] {
    request->finish_with({ErrorClass::truncate, "too long"});
    return true;
  };
  Status status;
  const TestOutcome outcome = test(engine_, request.get(), &status);
  EXPECT_TRUE(outcome.flag);
  EXPECT_EQ(process_.backend.rounds, 2);
  ASSERT_FALSE(outcome.result.ok());
  EXPECT_EQ(outcome.result.error().sentence(), "too long");
  EXPECT_EQ(status.error, code_of(ErrorClass::truncate));
}

TEST_F(CompletionTest, APersistentRequestBecomesInactiveAndKeepsItsPlace) {
  const auto request = make(true);
  request->finish();
  Request* array[] = {request.get()};
  const AnyOutcome outcome = wait_any(engine_, array, nullptr);
  EXPECT_EQ(outcome.index, 0);
  EXPECT_EQ(array[0], request.get());
  EXPECT_FALSE(request->is_active());
  EXPECT_EQ(request->detached, 0);
  EXPECT_EQ(wait_any(engine_, array, nullptr).index, undefined);
}

TEST_F(CompletionTest, GetStatusHandsNothingOut) {
  const auto open = make();
  const auto request = make(true);
  request->finish({.source = 1, .tag = 2, .bytes = 3});
  Request* array[] = {open.get(), request.get()};
  std::vector<int> indices(2);
  std::vector<Status> statuses(2);
  for (int again = 0; again < 2; ++again) {
    Status status;
    EXPECT_TRUE(get_status(engine_, request.get(), &status).flag);
    EXPECT_EQ(status.bytes, 3);
    EXPECT_EQ(get_status_any(engine_, array, &status).index, 1);
    EXPECT_EQ(get_status_some(engine_, array, indices, statuses).count, 1);
    EXPECT_EQ(indices[0], 1);
    EXPECT_EQ(statuses[0].tag, 2);
    EXPECT_FALSE(get_status_all(engine_, array, statuses).flag);
    EXPECT_TRUE(request->is_active());
    EXPECT_EQ(request->detached, 0);
  }
  open->finish();
  EXPECT_TRUE(get_status_all(engine_, array, statuses).flag);
  EXPECT_EQ(statuses[1].source, 1);
  EXPECT_EQ(array[0], open.get());
}

TEST_F(CompletionTest, AnErrorOfOneIsFoundInTheStatusesOfAll) {
  const auto good = make();
  const auto bad = make();
  good->finish({.source = 1, .tag = 2, .bytes = 3});
  bad->finish_with({ErrorClass::truncate, "8 bytes do not fit in 4"});
  Request* array[] = {nullptr, good.get(), bad.get()};
  std::vector<Status> statuses(3);
  const AllOutcome outcome = wait_all(engine_, array, statuses);
  ASSERT_FALSE(outcome.result.ok());
  EXPECT_EQ(outcome.result.error().code(), code_of(ErrorClass::in_status));
  EXPECT_EQ(outcome.result.error().sentence(), "request 2: 8 bytes do not fit in 4");
  EXPECT_EQ(outcome.failed, 2);
  EXPECT_EQ(statuses[0].error, 0);
  EXPECT_EQ(statuses[1].error, 0);
  EXPECT_EQ(statuses[1].bytes, 3);
  EXPECT_EQ(statuses[2].error, code_of(ErrorClass::truncate));
  EXPECT_EQ(std::ranges::count(array, nullptr), 3);
}

TEST_F(CompletionTest, AFailedMessageDoesNotEndAWaitForAll) {
  const auto bad = make();
  const auto late = make();
  bad->finish_with({ErrorClass::truncate, "too long"});
  process_.backend.on_progress = [&] {
    late->finish();
    return true;
  };
  Request* array[] = {bad.get(), late.get()};
  std::vector<Status> statuses(2);
  EXPECT_FALSE(wait_all(engine_, array, statuses).result.ok());
  EXPECT_EQ(statuses[1].error, 0);
  EXPECT_EQ(array[1], nullptr);
}

TEST_F(CompletionTest, ADeadPeerEndsAWaitForAll) {
  const auto dead = make();
  const auto open = make();
  const auto done = make();
  dead->finish_with({ErrorClass::proc_failed, "rank 3 died"});
  done->finish();
  Request* array[] = {dead.get(), open.get(), done.get()};
  std::vector<Status> statuses(3);
  const AllOutcome outcome = wait_all(engine_, array, statuses);
  EXPECT_EQ(outcome.result.error().code(), code_of(ErrorClass::in_status));
  EXPECT_EQ(statuses[0].error, code_of(ErrorClass::proc_failed));
  EXPECT_EQ(statuses[1].error, code_of(ErrorClass::pending));
  EXPECT_EQ(statuses[2].error, 0);
  EXPECT_EQ(array[0], nullptr);
  EXPECT_EQ(array[1], open.get());
  EXPECT_EQ(array[2], nullptr);
  EXPECT_EQ(open->detached, 0);
}

TEST_F(CompletionTest, AnInterruptedReceiveEndsEveryWaitAndStaysActive) {
  const auto open = make();
  open->set_interrupted(true);
  const int pending = code_of(ErrorClass::proc_failed_pending);
  Status status;
  EXPECT_EQ(wait(engine_, open.get(), &status).error().code(), pending);
  EXPECT_EQ(status.error, pending);
  const TestOutcome tested = test(engine_, open.get(), &status);
  EXPECT_FALSE(tested.flag);
  EXPECT_TRUE(is_left_active(tested.result));
  Request* array[] = {nullptr, open.get()};
  std::vector<Status> statuses(2);
  std::vector<int> indices(2);
  const AnyOutcome any = wait_any(engine_, array, &status);
  EXPECT_EQ(any.index, 1);
  EXPECT_TRUE(is_left_active(any.result));
  const SomeOutcome some = wait_some(engine_, array, indices, statuses);
  EXPECT_EQ(some.count, 1);
  EXPECT_EQ(statuses[0].error, pending);
  EXPECT_FALSE(wait_all(engine_, array, statuses).result.ok());
  EXPECT_EQ(statuses[1].error, pending);
  EXPECT_FALSE(test_all(engine_, array, statuses).flag);
  EXPECT_EQ(array[1], open.get());
  EXPECT_EQ(open->detached, 0);

  open->set_interrupted(false);
  open->finish();
  EXPECT_TRUE(wait(engine_, open.get(), &status).ok());
  EXPECT_EQ(open->detached, 1);
}

TEST_F(CompletionTest, ErrorsOfCallbacksAreThoseOfTheCall) {
  const auto query = make();
  query->query_code = 77;
  query->finish();
  Status status;
  Result<void> result = wait(engine_, query.get(), &status);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), 77);
  EXPECT_EQ(status.error, 77);

  const auto free = make();
  free->detach_code = 78;
  free->finish();
  result = wait(engine_, free.get(), &status);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), 78);
  EXPECT_EQ(status.error, 78);
}

/// Requests that complete in a random order, a few in each round of progress, and are collected by
/// random calls: each must be handed out once, with its own status and error, and as soon as it is
/// complete.
class Script {
 public:
  explicit Script(std::uint32_t seed) : random_(seed) {
    const std::size_t count = 1 + random_() % 20;
    for (std::size_t i = 0; i < count; ++i) {
      all_.push_back(make(random_() % 4 == 0));
      array_.push_back(random_() % 8 == 0 ? nullptr : all_.back().get());
      if (array_.back() != nullptr) order_.push_back(i);
    }
    seen_.assign(count, 0);
    std::ranges::shuffle(order_, random_);
    process_.backend.on_progress = [this] { return complete_some(); };
  }

  void run() {
    while (open() > 0) step();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i]->is_complete()) {
        EXPECT_EQ(seen_[i], 1) << i;
        EXPECT_EQ(all_[i]->detached, all_[i]->is_persistent() ? 0 : 1);
      } else {
        EXPECT_EQ(seen_[i], 0) << i;
      }
    }
  }

 private:
  [[nodiscard]] std::ptrdiff_t open() const {
    return std::ranges::count_if(
        array_, [](const Request* request) { return request != nullptr && request->is_active(); });
  }
  bool complete_some() {
    std::size_t count = random_() % 3;
    for (; count > 0 && !order_.empty(); --count) {
      const std::size_t i = order_.back();
      order_.pop_back();
      if (i % 5 == 3) {
        all_[i]->finish_with({ErrorClass::truncate, "too long"});
      } else {
        all_[i]->finish({.source = static_cast<int>(i), .tag = 1, .bytes = 4});
      }
    }
    return true;
  }
  void check(std::size_t i, const Status& status) {
    ASSERT_LT(i, all_.size());
    ++seen_[i];
    EXPECT_TRUE(all_[i]->is_complete());
    if (i % 5 == 3) {
      EXPECT_EQ(status.error, code_of(ErrorClass::truncate));
    } else {
      EXPECT_EQ(status.error, 0);
      EXPECT_EQ(status.source, static_cast<int>(i));
    }
    if (all_[i]->is_persistent()) {
      EXPECT_FALSE(all_[i]->is_active());
    } else {
      EXPECT_EQ(array_[i], nullptr);
    }
  }
  void check_some(const SomeOutcome& outcome, const std::vector<int>& indices,
                  const std::vector<Status>& statuses) {
    int failed = undefined;
    for (int k = 0; k < outcome.count; ++k) {
      const int i = indices[static_cast<std::size_t>(k)];
      check(static_cast<std::size_t>(i), statuses[static_cast<std::size_t>(k)]);
      if (failed == undefined && i % 5 == 3) failed = i;
    }
    EXPECT_EQ(outcome.failed, failed);
    EXPECT_EQ(outcome.result.ok(), failed == undefined);
    // Whatever was complete has been handed out.
    for (const Request* request : array_) {
      EXPECT_TRUE(request == nullptr || !request->is_active() || !request->is_complete());
    }
  }
  void step() {
    Engine& engine = process_.engine;
    Status status;
    std::vector<int> indices(array_.size());
    std::vector<Status> statuses(array_.size());
    const std::size_t one = random_() % array_.size();
    const bool is_open = array_[one] != nullptr && array_[one]->is_active();
    switch (random_() % 8) {
      case 0: {
        const AnyOutcome outcome = wait_any(engine, array_, &status);
        check(static_cast<std::size_t>(outcome.index), status);
        EXPECT_EQ(outcome.result.ok(), outcome.index % 5 != 3);
        break;
      }
      case 1: {
        const AnyOutcome outcome = test_any(engine, array_, &status);
        if (outcome.flag) check(static_cast<std::size_t>(outcome.index), status);
        break;
      }
      case 2: {
        const SomeOutcome outcome = wait_some(engine, array_, indices, statuses);
        EXPECT_GT(outcome.count, 0);
        check_some(outcome, indices, statuses);
        break;
      }
      case 3:
        check_some(test_some(engine, array_, indices, statuses), indices, statuses);
        break;
      case 4:
        if (!is_open) break;
        EXPECT_EQ(wait(engine, array_[one], &status).ok(), one % 5 != 3);
        if (!all_[one]->is_persistent()) array_[one] = nullptr;
        check(one, status);
        break;
      case 5:
        if (!is_open || !test(engine, array_[one], &status).flag) break;
        if (!all_[one]->is_persistent()) array_[one] = nullptr;
        check(one, status);
        break;
      default: {
        if (random_() % 8 != 0) break;
        std::vector<std::size_t> before;
        for (std::size_t i = 0; i < array_.size(); ++i) {
          if (array_[i] != nullptr && array_[i]->is_active()) before.push_back(i);
        }
        const bool waits = random_() % 2 == 0;
        const AllOutcome outcome =
            waits ? wait_all(engine, array_, statuses) : test_all(engine, array_, statuses);
        EXPECT_TRUE(outcome.flag || !waits);
        if (!outcome.flag) break;
        for (const std::size_t i : before) check(i, statuses[i]);
        EXPECT_EQ(open(), 0);
      }
    }
  }

  std::mt19937 random_;
  ManualProcess process_;
  std::vector<Ref<TestRequest>> all_;
  std::vector<Request*> array_;
  std::vector<std::size_t> order_;
  std::vector<int> seen_;
};

TEST(CompletionScripts, EveryRequestIsHandedOutOnce) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Script(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace hawser::p2p
