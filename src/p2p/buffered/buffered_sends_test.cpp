#include "p2p/buffered/buffered_sends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/manual_backend.hpp"
#include "tests/support/thread_backend.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::p2p {
namespace {

using base::ErrorClass;
using test::ManualProcess;

constexpr int buffer_error = static_cast<int>(ErrorClass::buffer);

class BufferedSendsTest : public ::testing::Test {
 protected:
  [[nodiscard]] ConstBuffer bytes(Count count) const { return {data_.data(), count, byte_type_}; }
  [[nodiscard]] Envelope to_peer() const { return {comm_.get(), 1, 5, Traffic::point_to_point}; }
  /// A pool of BYTES for OWNER.
  void attach(BufferedSends::Owner owner, std::size_t size) {
    memory_.emplace_back(size);
    ASSERT_TRUE(sends_.attach(owner, memory_.back().data(), static_cast<Count>(size)).ok());
  }

  core::TypeTable types_;
  Datatype* byte_type_ = types_.find(0x247);  // MPI_BYTE
  std::vector<std::byte> data_ = std::vector<std::byte>(4096, std::byte{1});
  test::Layouts layouts_;
  core::Object session_;
  Ref<Comm> comm_ = test::manual_comm(2, &session_);
  std::vector<std::vector<std::byte>> memory_;
  ManualProcess process_;
  BufferedSends sends_{process_.engine, *byte_type_};
};

TEST_F(BufferedSendsTest, SendsACopy) {
  attach(nullptr, 1000);
  test::TypedMemory memory(layouts_.gaps(), 3);
  memory.write(0, test::samples(0, 0, 6));
  ASSERT_TRUE(sends_.send(memory.const_buffer(), to_peer()).ok());
  memory.write(0, std::vector<std::int32_t>(6, -1));
  ASSERT_EQ(process_.backend.sends.size(), 1U);
  const auto packed = process_.backend.sends[0].data();
  const auto expected = test::samples(0, 0, 6);
  ASSERT_EQ(packed.size(), 24U);
  EXPECT_EQ(std::memcmp(packed.data(), expected.data(), 24), 0);
  EXPECT_GE(process_.backend.sends[0].buffer.data, memory_[0].data());
  EXPECT_LT(process_.backend.sends[0].buffer.data, memory_[0].data() + 1000);
  process_.backend.sends[0].request->finish();
}

TEST_F(BufferedSendsTest, WhatCanGoAtOnceNeedsNoRoom) {
  attach(nullptr, 0);
  process_.backend.immediate_bytes_max = 8;
  EXPECT_TRUE(sends_.send(bytes(8), to_peer()).ok());
  EXPECT_FALSE(sends_.send(bytes(9), to_peer()).ok());
  EXPECT_TRUE(sends_.send(bytes(9), {comm_.get(), proc_null, 5}).ok());
}

TEST_F(BufferedSendsTest, RefusesWhatHasNoRoomUntilThereIsSome) {
  EXPECT_EQ(sends_.send(bytes(1), to_peer()).error().code(), buffer_error);
  attach(nullptr, 2 * (100 + bsend_overhead_bytes));
  while (sends_.send(bytes(100), to_peer()).ok()) {
  }
  const auto refused = sends_.send(bytes(100), to_peer());
  EXPECT_EQ(refused.error().code(), buffer_error);
  EXPECT_EQ(refused.error().sentence(),
            "a message of 100 bytes has no room in the attached buffer of 1224 bytes, of which "
            "1120 are in use; attach one with 512 bytes (MPI_BSEND_OVERHEAD) plus the packed size "
            "for every message that is under way");
  ASSERT_EQ(process_.backend.sends.size(), 10U);
  process_.backend.sends[4].request->finish();  // not the oldest
  EXPECT_TRUE(sends_.send(bytes(100), to_peer()).ok());
  EXPECT_FALSE(sends_.send(bytes(100), to_peer()).ok());
  // A round of progress may make room.
  process_.backend.on_progress = [&] {
    process_.backend.sends[7].request->finish();
    return true;
  };
  EXPECT_TRUE(sends_.send(bytes(100), to_peer()).ok());
  for (auto& send : process_.backend.sends) send.request->finish();
}

TEST_F(BufferedSendsTest, LooksAtCommunicatorThenSessionThenProcess) {
  attach(nullptr, 1000);
  const auto last_sent_from = [&] {
    EXPECT_TRUE(sends_.send(bytes(10), to_peer()).ok());
    process_.backend.sends.back().request->finish();
    const auto* const data =
        static_cast<const std::byte*>(process_.backend.sends.back().buffer.data);
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (data >= memory_[i].data() && data < memory_[i].data() + memory_[i].size()) return i;
    }
    return memory_.size();
  };
  EXPECT_EQ(last_sent_from(), 0U);
  attach(&session_, 1000);
  EXPECT_EQ(last_sent_from(), 1U);
  attach(comm_.get(), 1000);
  EXPECT_EQ(last_sent_from(), 2U);
  ASSERT_TRUE(sends_.detach(&session_).ok());
  EXPECT_EQ(last_sent_from(), 2U);
  sends_.drop(comm_.get());
  sends_.drop(comm_.get());
  EXPECT_EQ(last_sent_from(), 0U);
}

TEST_F(BufferedSendsTest, AttachAndDetachComeInPairs) {
  std::array<std::byte, 600> memory{};
  EXPECT_EQ(sends_.detach(nullptr).error().code(), buffer_error);
  EXPECT_EQ(sends_.flush(nullptr).error().code(), buffer_error);
  EXPECT_EQ(sends_.iflush(nullptr).error().code(), buffer_error);
  ASSERT_TRUE(sends_.attach(nullptr, memory.data(), 600).ok());
  EXPECT_EQ(sends_.attach(nullptr, memory.data(), 600).error().code(), buffer_error);
  ASSERT_TRUE(sends_.send(bytes(10), to_peer()).ok());
  process_.backend.on_progress = [&, round = 0]() mutable {
    if (++round == 3) process_.backend.sends[0].request->finish();
    return true;
  };
  const auto detached = sends_.detach(nullptr);
  ASSERT_TRUE(detached.ok());
  EXPECT_TRUE(process_.backend.sends[0].request->is_complete());
  EXPECT_EQ(detached->data, memory.data());
  EXPECT_EQ(detached->bytes, 600);
}

TEST_F(BufferedSendsTest, AFlushWaitsForWhatWasSentBefore) {
  attach(nullptr, 4000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sends_.send(bytes(10), to_peer()).ok());
  process_.backend.sends[0].request->finish();
  auto flush = sends_.iflush(nullptr);
  ASSERT_TRUE(flush.ok());
  ASSERT_TRUE(sends_.send(bytes(10), to_peer()).ok());
  EXPECT_FALSE((*flush)->is_complete());
  process_.backend.sends[2].request->finish();
  EXPECT_FALSE((*flush)->is_complete());
  process_.backend.sends[1].request->finish();
  EXPECT_TRUE((*flush)->is_complete());
  process_.backend.sends[3].request->finish();
  EXPECT_TRUE(sends_.flush(nullptr).ok());
}

TEST_F(BufferedSendsTest, AnAutomaticBufferHasAlwaysRoom) {
  ASSERT_TRUE(sends_.attach(nullptr, buffer_automatic, 77).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(sends_.send(bytes(i % 5 == 0 ? 0 : 4096), to_peer()).ok());
    if (i % 2 == 0) process_.backend.sends.back().request->finish();
  }
  for (auto& send : process_.backend.sends) send.request->finish();
  const auto detached = sends_.detach(nullptr);
  ASSERT_TRUE(detached.ok());
  EXPECT_EQ(detached->data, buffer_automatic);
  EXPECT_EQ(detached->bytes, 0);
}

TEST_F(BufferedSendsTest, IsendIsCompleteAtOnce) {
  attach(nullptr, 1000);
  const auto request = sends_.isend(bytes(10), to_peer());
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE((*request)->is_complete());
  EXPECT_EQ((*request)->kind(), core::RequestKind::send);
  EXPECT_EQ((*request)->error_object(), comm_.get());
  EXPECT_EQ(sends_.isend(bytes(2000), to_peer()).error().code(), buffer_error);
  process_.backend.sends[0].request->finish();
}

TEST_F(BufferedSendsTest, ASendThatCannotStartTakesNoRoom) {
  attach(nullptr, 608);
  process_.backend.refuses_sends = true;
  EXPECT_EQ(sends_.send(bytes(600), to_peer()).error().code(),
            static_cast<int>(ErrorClass::proc_failed));
  process_.backend.refuses_sends = false;
  EXPECT_TRUE(sends_.send(bytes(600), to_peer()).ok());
  process_.backend.sends[0].request->finish();
}

TEST(BufferedSends, ArriveInOrderThroughASmallBuffer) {
  test::run_ranks(2, true, [](test::Rank& self) {
    const core::TypeTable types;
    Datatype& byte_type = *types.find(0x247);
    const Ref<Comm> world = self.world();
    BufferedSends sends(self.engine, byte_type);
    std::mt19937 random(3);
    std::vector<std::byte> memory(3 * (300 + bsend_overhead_bytes));
    if (self.rank == 0) {
      EXPECT_TRUE(sends.attach(nullptr, memory.data(), static_cast<Count>(memory.size())).ok());
    }
    std::vector<std::byte> data(300);
    for (int i = 0; i < 1000; ++i) {
      const auto bytes = static_cast<Count>(random() % 300);
      const Envelope envelope{world.get(), 1 - self.rank, 0, Traffic::point_to_point};
      if (self.rank == 0) {
        std::ranges::fill(data, static_cast<std::byte>(i));
        while (!sends.send({data.data(), bytes, &byte_type}, envelope).ok()) {
          EXPECT_TRUE(sends.flush(nullptr).ok());
        }
        continue;
      }
      Status status;
      EXPECT_TRUE(self.engine.recv({data.data(), 300, &byte_type}, envelope, &status).ok());
      EXPECT_EQ(status.bytes, bytes);
      EXPECT_TRUE(std::all_of(data.begin(), data.begin() + bytes,
                              [&](std::byte b) { return b == static_cast<std::byte>(i); }));
    }
    if (self.rank == 0) {
      EXPECT_TRUE(sends.detach(nullptr).ok());
    }
  });
}

}  // namespace
}  // namespace hawser::p2p
