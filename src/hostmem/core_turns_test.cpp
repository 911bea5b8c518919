#include "hostmem/core_turns.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hawser::hostmem {
namespace {

class Turns : public ::testing::Test {
 protected:
  /// COUNT members arrive at STEP on CORE.
  void arrive(std::uint64_t step, int core, int count) {
    for (int i = 0; i < count; ++i) turns.note_arrival(step, core);
  }
  std::array<CoreTurns::Core, CoreTurns::cores_max> memory{};
  CoreTurns turns{memory.data()};
};

TEST_F(Turns, ACoreIsDoneWhenAsManyHaveArrivedThereAsAtTheStepBefore) {
  arrive(1, 0, 4);
  arrive(1, 1, 2);
  EXPECT_TRUE(turns.seem_complete(1, 0));
  arrive(2, 0, 3);
  arrive(2, 1, 2);
  EXPECT_FALSE(turns.seem_complete(2, 0));
  EXPECT_TRUE(turns.seem_complete(2, 1));
  arrive(2, 0, 1);
  EXPECT_TRUE(turns.seem_complete(2, 0));
}

TEST_F(Turns, ACoreWhereNobodyHasArrivedIsNotDone) {
  arrive(1, 0, 4);
  EXPECT_FALSE(turns.seem_complete(1, 1));
  EXPECT_FALSE(turns.seem_complete(2, 0));
}

TEST_F(Turns, OneThatHasMovedIsForgottenAfterAWhile) {
  arrive(1, 0, 2);
  arrive(2, 0, 1);
  EXPECT_FALSE(turns.seem_complete(2, 0)) << "it may be about to arrive here";
  constexpr std::uint64_t later = 131;
  for (std::uint64_t step = 3; step <= later; step += 2) arrive(step, 0, 1);
  EXPECT_TRUE(turns.seem_complete(later, 0));
}

TEST_F(Turns, WhoRunsAheadDoesNotMakeOthersSeemToHaveArrived) {
  arrive(1, 0, 3);
  arrive(2, 0, 1);
  arrive(3, 0, 1);
  EXPECT_FALSE(turns.seem_complete(3, 0)) << "two are still to come to the step before";
  arrive(2, 0, 2);
  EXPECT_FALSE(turns.seem_complete(2, 0));
  EXPECT_FALSE(turns.seem_complete(3, 0));
  arrive(3, 0, 2);
  EXPECT_TRUE(turns.seem_complete(3, 0));
}

TEST_F(Turns, StepsWithoutArrivalsInBetweenAndManyCoresAreNoMatter) {
  constexpr std::uint64_t late = (std::uint64_t{1} << 32) + 7;
  arrive(5, 3, 2);
  arrive(late, 3, 1);
  EXPECT_FALSE(turns.seem_complete(late, 3));
  arrive(late, 3, 1);
  EXPECT_TRUE(turns.seem_complete(late, 3));
  arrive(9, 1000, 1);
  EXPECT_TRUE(turns.seem_complete(9, 1000));
}

}  // namespace
}  // namespace hawser::hostmem
