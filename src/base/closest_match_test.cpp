#include "base/closest_match.hpp"

#include <gtest/gtest.h>

namespace hawser::base {
namespace {

const std::vector<std::string> candidates = {"shm.queue_slots", "shm.rings_max", "stats"};

TEST(ClosestMatch, FindsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(closest_match("shm.queue_slot", candidates), "shm.queue_slots");
  EXPECT_EQ(closest_match("shm.queue_slotss", candidates), "shm.queue_slots");
  EXPECT_EQ(closest_match("shm-queue-slots", candidates), "shm.queue_slots");
  EXPECT_EQ(closest_match("shm.ring_max", candidates), "shm.rings_max");
  EXPECT_EQ(closest_match("stat", candidates), "stats");
}

TEST(ClosestMatch, PrefersTheNearer) {
  EXPECT_EQ(closest_match("abcd", {"abxx", "abcx"}), "abcx");
  EXPECT_EQ(closest_match("abcd", {"abcx", "abxx"}), "abcx");
}

TEST(ClosestMatch, OffersNothingThatIsFarAway) {
  EXPECT_FALSE(closest_match("verbs.port", candidates).has_value());
  EXPECT_FALSE(closest_match("", candidates).has_value());
  EXPECT_FALSE(closest_match("stats", {}).has_value());
}

TEST(DidYouMean, IsAPartOfASentenceOrEmpty) {
  EXPECT_EQ(did_you_mean("stat", candidates), "; did you mean 'stats'?");
  EXPECT_EQ(did_you_mean("verbs.port", candidates), "");
}

}  // namespace
}  // namespace hawser::base
