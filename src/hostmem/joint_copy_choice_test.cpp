#include "hostmem/joint_copy_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hawser::hostmem {
namespace {

constexpr std::size_t joint_message_bytes = std::size_t{128} * 1024;
constexpr std::size_t joint_frame_bytes_max = std::size_t{32} * 1024;
constexpr int messages_tried = 64;  // in a trial

/// A process that receives long messages, none of which crosses one of its own, and what its peer
/// does for them.
class JointReceiver {
 public:
  using Copy = TimedCopy;
  /// Per KiB, in ns.
  struct Paces {
    std::uint64_t out_of_frame;
    std::uint64_t by_kernel;
    std::uint64_t by_peer;
  };
  /// So many MESSAGES of BYTES; how many of them were copied jointly.
  int receive(int messages, std::size_t bytes, const Paces& paces) {
    int jointly = 0;
    for (int i = 0; i < messages; ++i) {
      const std::size_t from_bytes = choice.asked_from_bytes();
      const bool is_asked = from_bytes != 0 && bytes >= from_bytes;
      asked += static_cast<int>(is_asked);
      if (is_asked && choice.next(bytes)) {
        ++jointly;
        run(Copy::by_kernel, bytes / 2, paces.by_kernel);
        run(Copy::by_peer, bytes / 2, paces.by_peer);
        continue;
      }
      for (std::size_t at = 0; at < bytes; at += joint_frame_bytes_max) {
        const std::size_t frame_bytes = std::min(joint_frame_bytes_max, bytes - at);
        choice.came_by_frames(frame_bytes, bytes);
        run(Copy::out_of_frame, frame_bytes, paces.out_of_frame);
      }
    }
    return jointly;
  }

  JointCopyChoice choice;
  int asked = 0;

 private:
  void run(Copy copy, std::size_t bytes, std::uint64_t pace) {
    if (choice.wants_time(copy)) choice.took(copy, bytes, pace * bytes / 1024);
  }
};

constexpr JointReceiver::Paces quick_kernel{60, 40, 44};
constexpr JointReceiver::Paces written_before{60, 300, 290};

TEST(JointCopyChoice, IsJointWhereTheSlowerHalfTakesLessThanAllOfTheFrames) {
  EXPECT_GT(JointReceiver().receive(20'000, joint_message_bytes, quick_kernel), 15'000);
  EXPECT_LT(JointReceiver().receive(20'000, joint_message_bytes, written_before),
            20 * messages_tried);
  constexpr JointReceiver::Paces slow_peer{60, 40, 125};
  EXPECT_LT(JointReceiver().receive(20'000, joint_message_bytes, slow_peer), 20 * messages_tried);
}

TEST(JointCopyChoice, KnowsNothingOfIntoFrame) {
  EXPECT_FALSE(JointCopyChoice().wants_time(TimedCopy::into_frame)) << "that is the peer's work";
}

TEST(JointCopyChoice, IsAskedForNothingUntilThereIsSomethingToTry) {
  JointReceiver receiver;
  EXPECT_EQ(receiver.receive(100, joint_message_bytes, written_before), 0);
  EXPECT_EQ(receiver.asked, 0);
  receiver.receive(20'000, joint_message_bytes, written_before);
  EXPECT_LT(receiver.asked, 20 * messages_tried) << "in trials";
}

TEST(JointCopyChoice, GoesBackWhenItNoLongerPays) {
  JointReceiver receiver;
  receiver.receive(20'000, joint_message_bytes, quick_kernel);
  EXPECT_LT(receiver.receive(20'000, joint_message_bytes, written_before), 1000);
}

TEST(JointCopyChoice, ShorterMessagesHaveToSaveWhatItTakesToAgree) {
  JointReceiver receiver;
  receiver.receive(20'000, joint_message_bytes, quick_kernel);
  constexpr std::size_t shorter_bytes = 5389;  // which saves (60 - 22) ns * 5389 / 1024
  receiver.asked = 0;
  EXPECT_EQ(receiver.receive(1, shorter_bytes - 512, quick_kernel), 0);
  EXPECT_EQ(receiver.receive(1, shorter_bytes + 512, quick_kernel), 1);
}

TEST(JointCopyChoice, TheOtherDirectionIsTriedAtTheSameTime) {
  JointReceiver here, there;
  here.receive(100, joint_message_bytes, quick_kernel);
  there.receive(100, joint_message_bytes, quick_kernel);
  const OneCopyWord before = here.choice.trial_word();
  while (here.choice.trial_word() == before) here.receive(1, joint_message_bytes, quick_kernel);
  EXPECT_EQ(here.choice.trial_word() & 1, 1U) << "one copy is tried";
  const OneCopyWord own_word = there.choice.trial_word();
  EXPECT_EQ(there.choice.asked_from_bytes(), 0U);
  there.choice.join_trial(true);
  EXPECT_NE(there.choice.asked_from_bytes(), 0U);
  EXPECT_EQ(there.choice.trial_word(), own_word) << "or they would go on for ever";
  EXPECT_GT(there.receive(2 * messages_tried, joint_message_bytes, quick_kernel), messages_tried);
}

TEST(JointCopyChoice, ATrialThatIsOnIsNotBegunAgain) {
  JointReceiver receiver;
  receiver.receive(100, joint_message_bytes, written_before);
  receiver.choice.join_trial(true);
  int jointly = receiver.receive(messages_tried / 2, joint_message_bytes, written_before);
  receiver.choice.join_trial(true);
  jointly += receiver.receive(2 * messages_tried, joint_message_bytes, written_before);
  EXPECT_EQ(jointly, messages_tried);
}

TEST(JointCopyChoice, NothingIsTriedWhileMessagesCross) {
  JointReceiver receiver;
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_EQ(receiver.receive(1, joint_message_bytes, quick_kernel), 0);
    receiver.choice.put_off_trial();
  }
  EXPECT_EQ(receiver.asked, 0);
}

}  // namespace
}  // namespace hawser::hostmem
