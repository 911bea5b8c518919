#include "transport/shm/joint_copies.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "platform/process.hpp"
#include "platform/this_process.hpp"

namespace hawser::transport::shm {
namespace {

using platform::MemoryPiece;

constexpr std::size_t whole_bytes = 128 << 10;
constexpr std::size_t one_frame = 32 << 10;

std::uint64_t address_of(const std::string& text) {
  return reinterpret_cast<std::uint64_t>(text.data());
}

/// A receiver and its sender, in one process.
class ShmJointCopiesTest : public ::testing::Test {
 protected:
  ShmJointCopiesTest() {
    const pid_t self = platform::process_id();
    for (ShmJointCopies* const side : {&receiver, &sender})
      side->attach(self, platform::start_time(self));
    receiver.open_incoming(&words);
    sender.open_outgoing(&words);
  }
  /// Frames until the receiver wants something else to be tried.
  void receive_frames() {
    for (int i = 0; i < 10'000 && words.asked_from_bytes == 0; ++i) {
      receiver.came_by_frames(one_frame, whole_bytes);
      if (receiver.wants_time_of_frames()) receiver.frames_took(one_frame, 2000);
    }
  }

  hostmem::JointWords words{};
  ShmJointCopies receiver{false};
  ShmJointCopies sender{true};
};

TEST_F(ShmJointCopiesTest, CopyBothWays) {
  const std::string from(5000, 'x');
  std::string to(5000, '-');
  const MemoryPiece here{address_of(to), 2000}, there{address_of(from), 2000};
  EXPECT_EQ(receiver.get({&here, 1}, {&there, 1}), 2000);
  const std::array<MemoryPiece, 2> ours = {
      {{address_of(from) + 2000, 1000}, {address_of(from) + 3000, 2000}}};
  const std::array<MemoryPiece, 2> theirs = {
      {{address_of(to) + 2000, 1000}, {address_of(to) + 3000, 2000}}};
  std::uint64_t ns = 0;
  EXPECT_EQ(sender.put(ours, theirs, &ns), 3000);
  EXPECT_EQ(to, from);
  EXPECT_GT(ns, 0U);
  const MemoryPiece nowhere{8, 2000};
  EXPECT_LT(sender.put({&there, 1}, {&nowhere, 1}, &ns), 0);
}

TEST_F(ShmJointCopiesTest, NobodyWritesIntoAProcessThatHasOnlyTheNumber) {
  std::string to(100, '-');
  const std::string from(100, 'x');
  ShmJointCopies to_another(true);
  to_another.attach(platform::process_id(), platform::start_time(platform::process_id()) + 1);
  const MemoryPiece here{address_of(from), 100}, there{address_of(to), 100};
  std::uint64_t ns = 0;
  EXPECT_EQ(to_another.put({&here, 1}, {&there, 1}, &ns), -ESRCH);
  EXPECT_EQ(to, std::string(100, '-'));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ShmJointCopies to_child(true);
  to_child.attach(child, platform::start_time(child) + 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(to_child.put({&here, 1}, {&there, 1}, &ns), -ESRCH);
}

TEST_F(ShmJointCopiesTest, ClaimsGoThroughTheWords) {
  const JointClaim first = receiver.give_claim().value(), second = receiver.give_claim().value();
  EXPECT_FALSE(receiver.is_peer_at_work());
  EXPECT_TRUE(sender.take(first));
  EXPECT_TRUE(receiver.is_peer_at_work());
  EXPECT_FALSE(receiver.withdraw(first));
  EXPECT_TRUE(receiver.withdraw(second));
  EXPECT_FALSE(sender.take(second));
  receiver.close(first);
  receiver.close(second);
  EXPECT_FALSE(receiver.is_peer_at_work());
}

TEST_F(ShmJointCopiesTest, TheSenderHearsWhatItIsAskedFor) {
  EXPECT_FALSE(sender.is_asked_for(whole_bytes));
  receive_frames();
  EXPECT_TRUE(sender.is_asked_for(whole_bytes));
  EXPECT_TRUE(receiver.do_pay(whole_bytes)) << "in a trial";
  receiver.give_up();
  EXPECT_FALSE(sender.is_asked_for(whole_bytes));
  EXPECT_FALSE(receiver.do_pay(whole_bytes));
}

TEST_F(ShmJointCopiesTest, WhatTheSenderReceivesIsTriedAtTheSameTime) {
  hostmem::JointWords back{};
  sender.open_incoming(&back);
  for (int i = 0; i < 10; ++i) {
    sender.came_by_frames(one_frame, whole_bytes);
    sender.frames_took(one_frame, 2000);
  }
  receive_frames();
  EXPECT_TRUE(receiver.do_pay(whole_bytes));
  EXPECT_EQ(back.asked_from_bytes, 0U);
  EXPECT_TRUE(sender.is_asked_for(whole_bytes));
  EXPECT_NE(back.asked_from_bytes, 0U);
}

TEST_F(ShmJointCopiesTest, WithoutARingThereAreNone) {
  receiver.open_incoming(nullptr);
  sender.open_outgoing(nullptr);
  EXPECT_FALSE(receiver.do_pay(whole_bytes));
  EXPECT_FALSE(receiver.give_claim().has_value());
  EXPECT_FALSE(sender.is_asked_for(whole_bytes));
  EXPECT_FALSE(sender.take(1));
}

TEST_F(ShmJointCopiesTest, ANewRingHearsWhatTheOldOneKnew) {
  receive_frames();
  hostmem::JointWords later{};
  receiver.open_incoming(nullptr);
  receiver.open_incoming(&later);
  EXPECT_EQ(later.asked_from_bytes, words.asked_from_bytes);
}

}  // namespace
}  // namespace hawser::transport::shm
