#include "hostmem/joint_claims.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace hawser::hostmem {
namespace {

/// A claim that its sender does not take in time.
JointClaim lose_one(JointWords& words, JointClaims& claims) {
  const JointClaim claim = claims.give(words).value();
  EXPECT_TRUE(JointClaims::withdraw(words, claim));
  claims.close(claim);
  return claim;
}

TEST(JointClaims, WhatIsTakenCanNotBeWithdrawn) {
  JointWords words{};
  JointClaims claims;
  const JointClaim claim = claims.give(words).value();
  EXPECT_FALSE(claims.is_any_taken(words));
  EXPECT_TRUE(joint_claims::take(words, claim));
  EXPECT_TRUE(claims.is_any_taken(words));
  EXPECT_FALSE(JointClaims::withdraw(words, claim));
  claims.close(claim);
  EXPECT_FALSE(claims.is_any_taken(words));
}

TEST(JointClaims, WhatIsWithdrawnCanNotBeTaken) {
  JointWords words{};
  JointClaims claims;
  const JointClaim claim = claims.give(words).value();
  EXPECT_TRUE(JointClaims::withdraw(words, claim));
  EXPECT_FALSE(joint_claims::take(words, claim));
}

TEST(JointClaims, AnOldOneIsNotALaterOneInItsPlace) {
  JointWords words{};
  JointClaims claims;
  const JointClaim first = lose_one(words, claims);
  const JointClaim second = claims.give(words).value();
  EXPECT_NE(first, second);
  EXPECT_FALSE(joint_claims::take(words, first)) << "it is late";
  EXPECT_FALSE(claims.is_any_taken(words));
  EXPECT_TRUE(joint_claims::take(words, second));
}

TEST(JointClaims, AnOldOneIsNotTakenThoughALaterOneWasWithdrawnSince) {
  JointWords words{};
  JointClaims claims;
  const JointClaim first = lose_one(words, claims);
  const JointClaim second = lose_one(words, claims);
  EXPECT_EQ(joint_claims::slot_of(first), joint_claims::slot_of(second));
  EXPECT_FALSE(joint_claims::take(words, first)) << "it would write what is no longer there";
  EXPECT_FALSE(joint_claims::take(words, second));
}

TEST(JointClaims, NumbersMayBeginAgain) {
  constexpr std::uint32_t last_number = (1U << 28) - 1;
  for (const std::uint32_t given :
       {0U, 1U << 26, 1U << 27, 3U << 26, last_number - 1, last_number}) {
    JointWords words{};
    JointClaims claims(given);
    const JointClaim first = claims.give(words).value();
    EXPECT_TRUE(joint_claims::take(words, first)) << given;
    claims.close(first);
    SCOPED_TRACE(given);
    const JointClaim second = lose_one(words, claims);
    const JointClaim third = claims.give(words).value();
    EXPECT_FALSE(joint_claims::take(words, second)) << given;
    EXPECT_TRUE(joint_claims::take(words, third)) << given;
  }
}

TEST(JointClaims, AreAsManyAsThereIsRoomFor) {
  JointWords words{};
  JointClaims claims;
  std::set<JointClaim> given;
  for (std::size_t i = 0; i < JointWords::claims_max; ++i)
    EXPECT_TRUE(given.insert(claims.give(words).value()).second);
  EXPECT_FALSE(claims.give(words).has_value());
  claims.close(*given.begin());
  EXPECT_TRUE(claims.give(words).has_value());
}

TEST(JointClaims, OneInNoSlotIsNotTaken) {
  JointWords words{};
  EXPECT_FALSE(joint_claims::take(words, 1U << joint_claims::slot_bits | JointWords::claims_max));
}

TEST(JointClaims, OfTwoWhoWantThePartAtMostOneHasIt) {
  JointWords words{};
  JointClaims claims;
  for (int i = 0; i < 2000; ++i) {
    const JointClaim claim = claims.give(words).value();
    bool is_taken = false;
    std::thread sender([&] { is_taken = joint_claims::take(words, claim); });
    const bool is_withdrawn = JointClaims::withdraw(words, claim);
    sender.join();
    EXPECT_FALSE(is_taken && is_withdrawn);
    claims.close(claim);
  }
}

}  // namespace
}  // namespace hawser::hostmem
