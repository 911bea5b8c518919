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
  using Copy = TimedCopy;

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
  EXPECT_TRUE(choice.wants_time(TimedCopy::into_frame));
  EXPECT_TRUE(choice.wants_time(TimedCopy::out_of_frame));
}

TEST(OneCopyChoice, KnowsNothingOfByPeer) {
  EXPECT_FALSE(OneCopyChoice().wants_time(TimedCopy::by_peer));
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
