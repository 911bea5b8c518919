#include "p2p/persistent/persistent_request.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/manual_backend.hpp"
#include "tests/support/thread_backend.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::p2p {
namespace {

using base::ErrorClass;

constexpr int request_error = static_cast<int>(ErrorClass::request);

/// What a wait or test does with a complete request.
Status hand_out(Request& request) {
  Status status = request.status();
  request.finish_status(status);
  request.deactivate();
  return status;
}

class PersistentTest : public ::testing::Test {
 protected:
  [[nodiscard]] Envelope to(int peer) const { return {comm_.get(), peer, 5}; }

  test::Layouts layouts_;
  Ref<Comm> comm_ = test::manual_comm(2);
  test::ManualProcess process_;
  test::TypedMemory memory_{layouts_.gaps(), 4};
};

TEST_F(PersistentTest, MirrorsOneOperationPerStart) {
  const Ref<Request> request =
      base::make_ref<PersistentReceive>(process_.engine, memory_.buffer(), to(1));
  EXPECT_FALSE(request->is_active());
  EXPECT_TRUE(request->is_persistent());
  EXPECT_EQ(request->error_object(), comm_.get());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(request->start().ok());
    EXPECT_TRUE(request->is_active());
    EXPECT_FALSE(request->is_complete());
    EXPECT_EQ(request->start().error().code(), request_error);
    auto& receive = process_.backend.receives.back();
    EXPECT_EQ(receive.buffer.data, memory_.data());
    EXPECT_EQ(receive.envelope.tag, 5);
    if (i == 3) {
      receive.request->finish_with({ErrorClass::truncate, "too long"});
    } else {
      receive.request->finish({.source = 1, .tag = 5, .bytes = i});
    }
    EXPECT_TRUE(request->is_complete());
    const Status status = hand_out(*request);
    EXPECT_EQ(status.error, i == 3 ? static_cast<int>(ErrorClass::truncate) : 0);
    EXPECT_EQ(request->error() != nullptr, i == 3);
    if (i != 3) {
      EXPECT_EQ(status.bytes, i);
    }
    EXPECT_FALSE(request->is_active());
  }
  EXPECT_EQ(process_.backend.receives.size(), 5U);
}

TEST_F(PersistentTest, SendsInEachMode) {
  for (const SendMode mode : {SendMode::standard, SendMode::synchronous, SendMode::ready}) {
    const Ref<Request> request =
        base::make_ref<PersistentSend>(process_.engine, memory_.const_buffer(), to(1), mode);
    ASSERT_TRUE(request->start().ok());
    EXPECT_EQ(process_.backend.sends.back().mode, mode);
    EXPECT_FALSE(request->is_complete());
    process_.backend.sends.back().request->finish();
    EXPECT_TRUE(request->is_complete());
  }
}

TEST_F(PersistentTest, ABufferedSendIsCompleteOnceStarted) {
  BufferedSends sends(process_.engine, layouts_.integer());
  const Ref<Request> request =
      base::make_ref<PersistentBufferedSend>(process_.engine, sends, memory_.const_buffer(), to(1));
  EXPECT_EQ(request->start().error().code(), static_cast<int>(ErrorClass::buffer));
  EXPECT_FALSE(request->is_active());
  ASSERT_TRUE(sends.attach(nullptr, buffer_automatic, 0).ok());
  ASSERT_TRUE(request->start().ok());
  EXPECT_TRUE(request->is_complete());
  hand_out(*request);
  process_.backend.sends.back().request->finish();
}

TEST_F(PersistentTest, CancelsWhatItPosted) {
  const Ref<Request> request =
      base::make_ref<PersistentReceive>(process_.engine, memory_.buffer(), to(any_source));
  EXPECT_EQ(request->cancel().error().code(), request_error);
  ASSERT_TRUE(request->start().ok());
  ASSERT_TRUE(request->cancel().ok());
  EXPECT_TRUE(request->is_complete());
  EXPECT_TRUE(hand_out(*request).cancelled);
  ASSERT_TRUE(request->start().ok());
  process_.backend.receives.back().request->finish();
  EXPECT_FALSE(hand_out(*request).cancelled);
}

TEST_F(PersistentTest, AFailedStartLeavesItInactive) {
  const Ref<Request> request = base::make_ref<PersistentSend>(
      process_.engine, memory_.const_buffer(), to(1), SendMode::standard);
  process_.backend.refuses_sends = true;
  EXPECT_FALSE(request->start().ok());
  EXPECT_FALSE(request->is_active());
  process_.backend.refuses_sends = false;
  EXPECT_TRUE(request->start().ok());
}

TEST_F(PersistentTest, MayBeFreedWhileItsMessageTravels) {
  Ref<Request> request =
      base::make_ref<PersistentReceive>(process_.engine, memory_.buffer(), to(1));
  ASSERT_TRUE(request->start().ok());
  ASSERT_TRUE(request->detach().ok());
  request = nullptr;
  process_.backend.receives[0].request->finish();
}

TEST_F(PersistentTest, ProcNullCompletesAtOnce) {
  const Ref<Request> receive =
      base::make_ref<PersistentReceive>(process_.engine, memory_.buffer(), to(proc_null));
  const Ref<Request> send = base::make_ref<PersistentSend>(process_.engine, memory_.const_buffer(),
                                                           to(proc_null), SendMode::synchronous);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(receive->start().ok());
    ASSERT_TRUE(send->start().ok());
    EXPECT_TRUE(receive->is_complete());
    EXPECT_TRUE(send->is_complete());
    EXPECT_EQ(hand_out(*receive).source, proc_null);
    hand_out(*send);
  }
}

TEST(Persistent, ARingOfManyStarts) {
  const test::Layouts layouts;
  test::run_ranks(4, true, [&](test::Rank& self) {
    const Ref<Comm> world = self.world();
    const int right = (self.rank + 1) % self.size;
    const int left = (self.rank + self.size - 1) % self.size;
    test::TypedMemory out(layouts.gaps(), 20);
    test::TypedMemory in(layouts.before(), 20);
    const Ref<Request> send = base::make_ref<PersistentSend>(
        self.engine, out.const_buffer(), Envelope{world.get(), right, 1}, SendMode::standard);
    const Ref<Request> receive =
        base::make_ref<PersistentReceive>(self.engine, in.buffer(), Envelope{world.get(), left, 1});
    for (Count i = 0; i < 100; ++i) {
      out.write(0, test::samples(self.rank, i, 40));
      if (i % 2 == 0) {
        EXPECT_TRUE(receive->start().ok());
        EXPECT_TRUE(send->start().ok());
      } else {
        EXPECT_TRUE(send->start().ok());
        EXPECT_TRUE(receive->start().ok());
      }
      self.engine.wait(*send);
      self.engine.wait(*receive);
      hand_out(*send);
      EXPECT_EQ(hand_out(*receive).bytes, 160);
      test::TypedMemory expected(layouts.before(), 20);
      expected.write(0, test::samples(left, i, 40));
      EXPECT_TRUE(in == expected);
    }
  });
}

}  // namespace
}  // namespace hawser::p2p
