#include "hostmem/one_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hawser::hostmem {
namespace {

constexpr std::size_t crossing_bytes = std::size_t{128} * 1024;
constexpr std::size_t one_frame_bytes = std::size_t{32} * 1024;
constexpr std::size_t kernel_run_bytes = std::size_t{1024} * 1024;

/// What a KiB takes, in nanoseconds.
struct Work {
  std::uint64_t into_frame;
  std::uint64_t out_of_frame;
  std::uint64_t by_kernel;
};
constexpr Work together{22, 24, 82};        // cores that share a cache
constexpr Work apart{45, 70, 85};           // cores that don't
constexpr Work apart_written{45, 70, 200};  // where the sender has just written what is read

/// Two processes, whose long messages cross.
class CrossingPair {
 public:
  using Copy = OneCopyChoice::Copy;

  explicit CrossingPair(std::size_t each_bytes = crossing_bytes) : bytes_(each_bytes) {}

  /// So many messages each way; how many of those to the leader were copied once.
  int exchange(int messages, const Work& paces) {
    int once = 0;
    for (int i = 0; i < messages; ++i) {
      const bool is_once = leader.next(bytes_);
      const bool is_follower_once = follower.next(bytes_, leader.word());
      once += static_cast<int>(is_once);
      followed += static_cast<int>(is_follower_once);
      if (is_once) {
        run_all(Copy::by_kernel, kernel_run_bytes, paces.by_kernel * (was_once_ ? 1 : first_times));
      } else {
        run_all(Copy::out_of_frame, one_frame_bytes, paces.out_of_frame);
      }
      was_once_ = is_once;
      if (!is_follower_once) run_all(Copy::into_frame, one_frame_bytes, paces.into_frame);
    }
    return once;
  }

  OneCopyChoice leader;
  OneCopyFollower follower;
  int followed = 0;  // messages to the follower that were copied once
  int timed = 0;     // runs
  bool is_interrupted = false;
  std::uint64_t first_times = 1;  // as long as usual takes the first of several that go once

 private:
  void run_all(Copy copy, std::size_t longest_run_bytes, std::uint64_t pace) {
    for (std::size_t at = 0; at < bytes_; at += longest_run_bytes)
      run(copy, std::min(longest_run_bytes, bytes_ - at), pace);
  }
  void run(Copy copy, std::size_t bytes, std::uint64_t pace) {
    if (!leader.wants_time(copy)) return;
    ++timed;
    const bool is_hit = is_interrupted && timed % 50 == 0;
    leader.took(copy, bytes, pace * bytes / 1024 + (is_hit ? 4'000'000 : 0));
  }
  std::size_t bytes_;
  bool was_once_ = false;
};

/// Messages of one trial, and from one to the next in the long run: 400 times what is lost in one.
constexpr int trial_messages = 64;
constexpr int gap_messages = 400 * trial_messages * (82 - 46) / 46;  // together
constexpr int gap_messages_apart = 400 * trial_messages * (115 - 85) / 85;
constexpr int long_run = 50'000;

TEST(OneCopyChoice, IsOneCopyWhereThatTakesLessThanTwo) {
  CrossingPair pair;
  EXPECT_GT(pair.exchange(2000, apart), 1500);
  EXPECT_LT(CrossingPair().exchange(2000, together), 3 * trial_messages + 1);
  EXPECT_LT(CrossingPair().exchange(2000, apart_written), 3 * trial_messages + 1);
}

TEST(OneCopyChoice, IsFramesUntilItIsKnownWhatTheyTake) {
  OneCopyChoice choice;
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(choice.next(crossing_bytes));
  EXPECT_TRUE(choice.wants_time(OneCopyChoice::Copy::into_frame));
  EXPECT_TRUE(choice.wants_time(OneCopyChoice::Copy::out_of_frame));
}

TEST(OneCopyChoice, FollowsAMoveOfTheProcesses) {
  CrossingPair pair;
  pair.exchange(long_run, together);
  EXPECT_GT(pair.exchange(3000, apart), 2500) << "what frames take is looked at all the time";
  pair.exchange(long_run, apart);
  pair.exchange(gap_messages_apart + trial_messages, together);
  EXPECT_LT(pair.exchange(1000, together), 2 * trial_messages + 1) << "after one trial";
}

TEST(OneCopyChoice, TriesTheOtherWaySeldom) {
  CrossingPair pair;
  pair.exchange(long_run, together);
  pair.timed = 0;
  EXPECT_LE(pair.exchange(4 * gap_messages, together), 4 * trial_messages);
  EXPECT_LE(pair.timed, 4 * gap_messages + 4 * trial_messages * 5) << "one of nine frames";
  pair.exchange(long_run, apart);
  EXPECT_GE(pair.exchange(4 * gap_messages_apart, apart),
            4 * (gap_messages_apart - trial_messages));
}

TEST(OneCopyChoice, TrialsThatCostLessAreNotAsRare) {
  constexpr Work nearly_alike{40, 40, 84};
  constexpr int gap = 64 * trial_messages;
  CrossingPair pair;
  pair.exchange(long_run, nearly_alike);
  EXPECT_GE(pair.exchange(4 * gap, nearly_alike), 3 * trial_messages);
}

TEST(OneCopyChoice, TriesSoonWhereTheWayInUseSlowsDown) {
  constexpr int noticed_after = 9 * 50;  // runs, of which one in nine is timed
  CrossingPair pair;
  constexpr Work before{45, 70, 60}, now{20, 20, 100};  // less than frames took before
  pair.exchange(long_run, before);
  pair.exchange(noticed_after + trial_messages, now);
  EXPECT_LT(pair.exchange(1000, now), 2 * trial_messages + 1);
}

TEST(OneCopyChoice, AFewOfVeryLongMessagesAreTried) {
  constexpr std::size_t very_long_bytes = std::size_t{64} << 20;
  CrossingPair pair(very_long_bytes);
  pair.exchange(200, together);
  EXPECT_LE(pair.exchange(128 * 2, together), 2 * 2) << "2 of 128";
  EXPECT_GT(pair.exchange(128 * 2, apart), 128);
}

TEST(OneCopyChoice, AnInterruptChangesNothing) {
  CrossingPair pair;
  pair.is_interrupted = true;
  EXPECT_LT(pair.exchange(8000, together), 6 * trial_messages);
  EXPECT_GT(pair.exchange(8000, apart), 7000);
}

TEST(OneCopyChoice, TheBeginningOfATrialDoesNotCount) {
  CrossingPair pair;
  pair.first_times = 25;
  EXPECT_GT(pair.exchange(2000, apart), 1500) << "that is no reason against it";
}

TEST(OneCopyChoice, TheOtherOneFollows) {
  CrossingPair pair;
  const int copied_once = pair.exchange(20'000, together);
  EXPECT_EQ(pair.followed, copied_once) << "in trials too";
  pair.followed = 0;
  EXPECT_EQ(pair.exchange(20'000, apart), pair.followed);
}

/// A process that receives long messages, none of which crosses one of its own, and what its peer
/// does for them.
class JointReceiver {
 public:
  using Copy = OneCopyChoice::Copy;
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
      for (std::size_t at = 0; at < bytes; at += one_frame_bytes) {
        const std::size_t frame_bytes = std::min(one_frame_bytes, bytes - at);
        choice.came_by_frames(frame_bytes, bytes);
        run(Copy::out_of_frame, frame_bytes, paces.out_of_frame);
      }
    }
    return jointly;
  }

  OneCopyChoice choice{OneCopyChoice::Kind::jointly};
  int asked = 0;

 private:
  void run(Copy copy, std::size_t bytes, std::uint64_t pace) {
    if (choice.wants_time(copy)) choice.took(copy, bytes, pace * bytes / 1024);
  }
};

constexpr JointReceiver::Paces quick_kernel{60, 40, 44};
constexpr JointReceiver::Paces written_before{60, 300, 290};

TEST(JointCopyChoice, IsJointWhereTheSlowerHalfTakesLessThanAllOfTheFrames) {
  EXPECT_GT(JointReceiver().receive(20'000, crossing_bytes, quick_kernel), 15'000);
  EXPECT_LT(JointReceiver().receive(20'000, crossing_bytes, written_before), 20 * trial_messages);
  constexpr JointReceiver::Paces slow_peer{60, 40, 125};
  EXPECT_LT(JointReceiver().receive(20'000, crossing_bytes, slow_peer), 20 * trial_messages);
}

TEST(JointCopyChoice, KnowsNothingOfIntoFrame) {
  OneCopyChoice choice(OneCopyChoice::Kind::jointly);
  EXPECT_FALSE(choice.wants_time(OneCopyChoice::Copy::into_frame)) << "that is the peer's work";
  EXPECT_FALSE(OneCopyChoice().wants_time(OneCopyChoice::Copy::by_peer));
}

TEST(JointCopyChoice, IsAskedForNothingUntilThereIsSomethingToTry) {
  JointReceiver receiver;
  EXPECT_EQ(receiver.receive(100, crossing_bytes, written_before), 0);
  EXPECT_EQ(receiver.asked, 0);
  receiver.receive(20'000, crossing_bytes, written_before);
  EXPECT_LT(receiver.asked, 20 * trial_messages) << "in trials";
}

TEST(JointCopyChoice, GoesBackWhenItNoLongerPays) {
  JointReceiver receiver;
  receiver.receive(20'000, crossing_bytes, quick_kernel);
  EXPECT_LT(receiver.receive(20'000, crossing_bytes, written_before), 1000);
}

TEST(JointCopyChoice, ShorterMessagesHaveToSaveWhatItTakesToAgree) {
  JointReceiver receiver;
  receiver.receive(20'000, crossing_bytes, quick_kernel);
  constexpr std::size_t shorter_bytes = 5389;  // which saves (60 - 22) ns * 5389 / 1024
  receiver.asked = 0;
  EXPECT_EQ(receiver.receive(1, shorter_bytes - 512, quick_kernel), 0);
  EXPECT_EQ(receiver.receive(1, shorter_bytes + 512, quick_kernel), 1);
}

TEST(JointCopyChoice, TheOtherDirectionIsTriedAtTheSameTime) {
  JointReceiver here, there;
  here.receive(100, crossing_bytes, quick_kernel);
  there.receive(100, crossing_bytes, quick_kernel);
  const OneCopyWord before = here.choice.trial_word();
  while (here.choice.trial_word() == before) here.receive(1, crossing_bytes, quick_kernel);
  EXPECT_EQ(here.choice.trial_word() & 1, 1U) << "one copy is tried";
  const OneCopyWord own_word = there.choice.trial_word();
  EXPECT_EQ(there.choice.asked_from_bytes(), 0U);
  there.choice.join_trial(true);
  EXPECT_NE(there.choice.asked_from_bytes(), 0U);
  EXPECT_EQ(there.choice.trial_word(), own_word) << "or they would go on for ever";
  EXPECT_GT(there.receive(2 * trial_messages, crossing_bytes, quick_kernel), trial_messages);
}

TEST(JointCopyChoice, ATrialThatIsOnIsNotBegunAgain) {
  JointReceiver receiver;
  receiver.receive(100, crossing_bytes, written_before);
  receiver.choice.join_trial(true);
  int jointly = receiver.receive(trial_messages / 2, crossing_bytes, written_before);
  receiver.choice.join_trial(true);
  jointly += receiver.receive(2 * trial_messages, crossing_bytes, written_before);
  EXPECT_EQ(jointly, trial_messages);
}

TEST(JointCopyChoice, NothingIsTriedWhileMessagesCross) {
  JointReceiver receiver;
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_EQ(receiver.receive(1, crossing_bytes, quick_kernel), 0);
    receiver.choice.put_off_trial();
  }
  EXPECT_EQ(receiver.asked, 0);
}

TEST(OneCopyFollower, HasAWholeTrialHoweverQuicklyItsPeerHadIt) {
  OneCopyFollower follower;
  constexpr OneCopyWord frames = 0, frames_after_trial = 2, once_after_trial = 3;
  EXPECT_FALSE(follower.next(crossing_bytes, frames));
  int once = 0;
  for (int i = 0; i < 1000; ++i)
    once += static_cast<int>(follower.next(crossing_bytes, frames_after_trial));
  EXPECT_EQ(once, trial_messages);
  EXPECT_TRUE(follower.next(crossing_bytes, once_after_trial)) << "no new trial";
}

}  // namespace
}  // namespace hawser::hostmem
