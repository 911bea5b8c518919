#include "hostmem/one_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace hawser::hostmem {
namespace {

constexpr std::size_t crossing_bytes = std::size_t{128} * 1024;
constexpr std::size_t one_frame_bytes = std::size_t{32} * 1024;

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

  /// So many messages each way; how many of those to the leader were copied once.
  int exchange(int messages, const Work& paces) {
    int once = 0;
    for (int i = 0; i < messages; ++i) {
      const bool is_once = leader.next();
      follower.note_peer(is_once);
      once += static_cast<int>(is_once);
      if (is_once) {
        run(Copy::by_kernel, crossing_bytes, paces.by_kernel);
      } else {
        run_frames(Copy::out_of_frame, paces.out_of_frame);
      }
      const bool is_follower_once = follower.next();
      followed += static_cast<int>(is_follower_once);
      leader.note_peer(is_follower_once);
      if (!is_follower_once) run_frames(Copy::into_frame, paces.into_frame);
    }
    return once;
  }

  OneCopyChoice leader{true};
  OneCopyChoice follower{false};
  int followed = 0;  // messages to the follower that were copied once
  int timed = 0;     // runs
  bool is_interrupted = false;

 private:
  void run_frames(Copy copy, std::uint64_t pace) {
    for (std::size_t at = 0; at < crossing_bytes; at += one_frame_bytes)
      run(copy, one_frame_bytes, pace);
  }
  void run(Copy copy, std::size_t bytes, std::uint64_t pace) {
    if (!leader.wants_time(copy)) return;
    ++timed;
    const bool is_hit = is_interrupted && timed % 50 == 0;
    leader.took(copy, bytes, pace * bytes / 1024 + (is_hit ? 4'000'000 : 0));
  }
};

TEST(OneCopyChoice, IsOneCopyWhereThatTakesLessThanTwo) {
  CrossingPair pair;
  EXPECT_GT(pair.exchange(1000, apart), 900);
  EXPECT_LT(CrossingPair().exchange(1000, together), 50);
  EXPECT_LT(CrossingPair().exchange(1000, apart_written), 50);
}

TEST(OneCopyChoice, IsFramesUntilItIsKnownWhatTheyTake) {
  OneCopyChoice choice(true);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(choice.next());
  EXPECT_TRUE(choice.wants_time(OneCopyChoice::Copy::into_frame));
  EXPECT_TRUE(choice.wants_time(OneCopyChoice::Copy::out_of_frame));
}

TEST(OneCopyChoice, FollowsAMoveOfTheProcesses) {
  CrossingPair pair;
  pair.exchange(5000, together);
  EXPECT_GT(pair.exchange(1000, apart), 800);
  EXPECT_LT(pair.exchange(8000, together), 4500);
  EXPECT_LT(pair.exchange(1000, together), 20);
  EXPECT_GT(pair.exchange(1000, apart), 800);
}

TEST(OneCopyChoice, TriesTheOtherWaySeldom) {
  CrossingPair pair;
  pair.exchange(6000, together);
  pair.timed = 0;
  EXPECT_LE(pair.exchange(10'240, together), 24) << "4 of 2048";
  EXPECT_LE(pair.timed, 10'240 + 24) << "one of eight frames";
  pair.exchange(6000, apart);
  EXPECT_GE(pair.exchange(10'240, apart), 10'240 - 24);
}

TEST(OneCopyChoice, AnInterruptChangesNothing) {
  CrossingPair pair;
  pair.is_interrupted = true;
  EXPECT_LT(pair.exchange(4000, together), 100);
  EXPECT_GT(pair.exchange(4000, apart), 3400);
}

TEST(OneCopyChoice, TheFirstMessageOfATrialDoesNotCount) {
  OneCopyChoice choice(true);
  using Copy = OneCopyChoice::Copy;
  constexpr std::uint64_t kib = one_frame_bytes / 1024;
  const auto message = [&](std::uint64_t kernel) {
    const bool is_once = choice.next();
    if (is_once) choice.took(Copy::by_kernel, one_frame_bytes, kernel * kib);
    choice.took(Copy::into_frame, one_frame_bytes, 50 * kib);
    choice.took(Copy::out_of_frame, one_frame_bytes, 60 * kib);
    return is_once;
  };
  for (int i = 0; i < 3; ++i) message(300);
  bool was_once = false;
  int once = 0;
  // What one copy takes where the last message went another way is no reason against it.
  for (int i = 0; i < 4000; ++i) {
    was_once = message(was_once ? 80 : 2000);
    once += static_cast<int>(was_once);
  }
  EXPECT_GT(once, 2000);
}

TEST(OneCopyChoice, TheOtherOneFollowsButNoTrial) {
  CrossingPair pair;
  pair.exchange(5000, together);
  EXPECT_EQ(pair.followed, 0);
  EXPECT_FALSE(pair.follower.wants_time(OneCopyChoice::Copy::into_frame));
  pair.exchange(1000, apart);
  pair.followed = 0;
  pair.exchange(5000, apart);
  EXPECT_EQ(pair.followed, 5000);
}

}  // namespace
}  // namespace hawser::hostmem
