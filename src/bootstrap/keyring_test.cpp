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
}

}  // namespace
}  // namespace hawser::bootstrap
