#include "transport/tcp/rest.hpp"

#include <gtest/gtest.h>

namespace hawser::transport::tcp {
namespace {

TEST(Rest, WhoAsksEndsTheConnectionOnceThePeerHasAgreed) {
  Rest one;
  Rest other;
  EXPECT_TRUE(one.ask());
  EXPECT_FALSE(one.ask()) << "once is enough";
  EXPECT_TRUE(other.on_asked(true));
  EXPECT_FALSE(other.is_ending());
  EXPECT_TRUE(one.on_agreed());
  EXPECT_TRUE(one.is_ending());
  EXPECT_TRUE(other.is_welcome());
  one.begin();
  EXPECT_TRUE(one.is_resting());
  EXPECT_FALSE(one.is_welcome());
  one.on_use();
  EXPECT_FALSE(one.is_resting());
}

TEST(Rest, WhoHasSomethingUnderWayDoesNotAgree) {
  Rest other;
  EXPECT_FALSE(other.on_asked(false));
  EXPECT_FALSE(other.is_welcome());
}

TEST(Rest, WhatIsSentOrComesMeanwhileKeepsTheConnection) {
  Rest one;
  one.ask();
  one.on_use();
  EXPECT_FALSE(one.on_agreed());
  EXPECT_FALSE(one.is_ending());
  one.ask();
  EXPECT_TRUE(one.on_agreed());
  one.on_use();
  EXPECT_FALSE(one.is_ending()) << "it was read together with the answer";
  Rest other;
  other.on_asked(true);
  other.on_use();
  EXPECT_FALSE(other.is_welcome());
}

TEST(Rest, BothAskingAtOnceEndIt) {
  Rest one;
  Rest other;
  one.ask();
  other.ask();
  EXPECT_TRUE(one.on_asked(true));
  EXPECT_TRUE(other.on_asked(true));
  EXPECT_TRUE(one.on_agreed());
  EXPECT_TRUE(other.on_agreed());
  EXPECT_TRUE(one.is_ending());
  EXPECT_TRUE(other.is_ending());
}

}  // namespace
}  // namespace hawser::transport::tcp
