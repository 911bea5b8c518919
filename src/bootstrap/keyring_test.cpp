#include "bootstrap/keyring.hpp"

#include <gtest/gtest.h>

namespace hawser::bootstrap {
namespace {

Admission some_admission(std::uint64_t id) { return {id, {std::byte{7}, std::byte(id)}}; }

TEST(Keyring, AnAdmissionHoldsUntilItWasBarredAsOftenAsAdmitted) {
  Keyring keys;
  EXPECT_EQ(keys.find(5), nullptr);
  keys.admit(some_admission(5));
  keys.admit(some_admission(5));
  keys.bar(5);
  ASSERT_NE(keys.find(5), nullptr);
  EXPECT_EQ(*keys.find(5), some_admission(5).key);
  keys.bar(5);
  EXPECT_EQ(keys.find(5), nullptr);
  keys.bar(5);  // nothing to bar
}

TEST(Keyring, APeerIsTalkedToUnderTheLastAdmission) {
  Keyring keys;
  const Identity peer{9, 1, 0};
  EXPECT_EQ(keys.for_peer(peer), nullptr);
  keys.assign(peer, some_admission(1));
  keys.assign(peer, some_admission(2));
  ASSERT_NE(keys.for_peer(peer), nullptr);
  EXPECT_EQ(keys.for_peer(peer)->id, 2U);
  keys.forget(peer);
  EXPECT_EQ(keys.for_peer(peer), nullptr);
  EXPECT_EQ(keys.admissions(), 0U) << "nobody comes under what this side alone uses";
}

TEST(Keyring, WhatAPeerIsEntrustedWithHoldsAsLongAsItIsKnown) {
  Keyring keys;
  const Identity peer{9, 1, 0};
  const Identity other{9, 2, 0};
  for (const std::uint64_t id : {1U, 2U, 2U}) keys.entrust(peer, some_admission(id));
  keys.entrust(other, some_admission(1));
  keys.trim(peer);
  EXPECT_NE(keys.find(1), nullptr) << "another one has it, too";
  EXPECT_NE(keys.find(2), nullptr) << "it is in use";
  keys.forget(other);
  EXPECT_EQ(keys.find(1), nullptr);
  keys.forget(peer);
  EXPECT_EQ(keys.admissions(), 0U);
  keys.trim(peer);
  keys.forget(peer);  // nobody to forget
}

}  // namespace
}  // namespace hawser::bootstrap
