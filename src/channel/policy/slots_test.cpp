#include "channel/policy/slots.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hawser::channel {
namespace {

struct Peer {
  std::uint64_t messages = 0;
};

std::uint64_t activity(const Peer& peer) { return peer.messages; }

class SlotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Peer& peer : peers) {
      ASSERT_TRUE(slots.reserve());
      slots.hold(peer);
    }
  }
  Peer* turn_away() { return slots.turn_away(1, activity); }

  std::array<Peer, 3> peers;
  Slots<Peer> slots{3};
};

TEST_F(SlotsTest, TheLimitIsNeverPassed) {
  EXPECT_FALSE(slots.reserve());
  slots.let_go(peers[1]);
  EXPECT_FALSE(slots.is_held_by(peers[1]));
  slots.let_go(peers[1]);
  EXPECT_EQ(slots.taken(), 2);
  EXPECT_TRUE(slots.reserve());
  EXPECT_FALSE(slots.reserve());
  slots.release();
  EXPECT_TRUE(slots.reserve());
}

TEST_F(SlotsTest, WhoIsIdleForAWholeSweepIsFound) {
  EXPECT_EQ(turn_away(), nullptr);  // how long they have held it is not known
  ++peers[0].messages;
  ++peers[2].messages;
  EXPECT_EQ(turn_away(), &peers[1]);
}

TEST_F(SlotsTest, TheOneIdleLongestGoesFirst) {
  turn_away();
  ++peers[0].messages;
  ++peers[1].messages;
  EXPECT_EQ(turn_away(), &peers[2]);
  EXPECT_EQ(turn_away(), &peers[2]);  // all are idle now
  slots.let_go(peers[2]);
  EXPECT_EQ(turn_away(), &peers[0]);
}

TEST_F(SlotsTest, NobodyIsIdleWhileAllAreUsed) {
  for (int round = 0; round < 10; ++round) {
    for (Peer& peer : peers) ++peer.messages;
    EXPECT_EQ(turn_away(), nullptr);
  }
}

TEST_F(SlotsTest, ASweepComesOnceAsManyWereTurnedAwayAsThereArePeers) {
  constexpr std::size_t peer_count = 100;
  int sweeps = 0;
  for (std::size_t i = 0; i < 3 * peer_count; ++i)
    sweeps += slots.turn_away(peer_count, activity) != nullptr ? 1 : 0;
  EXPECT_EQ(sweeps, 2);  // the first finds nobody idle for long enough
}

TEST_F(SlotsTest, ASweepNamesTheOneUsedLeastIfNobodyIsIdle) {
  slots.sweep(activity);
  peers[0].messages += 3;
  peers[1].messages += 1;
  peers[2].messages += 2;
  EXPECT_EQ(slots.sweep(activity).peer, &peers[1]);
  peers[0].messages += 3;
  peers[1].messages += 1;
  const auto idle = slots.sweep(activity);
  EXPECT_EQ(idle.peer, &peers[2]);
  EXPECT_EQ(idle.idle_sweeps, 1U);
  EXPECT_EQ(Slots<Peer>(1).sweep(activity).peer, nullptr);
}

}  // namespace
}  // namespace hawser::channel
