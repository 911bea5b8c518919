// Two processes with two networks between them, of which the second serves as side link.
#include <gtest/gtest.h>

#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

constexpr std::uint64_t tick_ns = 100'000;

class TwoNetworks : public ::testing::Test {
 protected:
  TwoNetworks() {
    for (FakeTransport* each : {&a_beside, &b_beside}) each->announces = true;
    a.add(a_beside);
    b.add(b_beside);
  }
  Endpoint& a_to_b() { return a.table.find_or_make(b.bootstrap.placement().self); }
  /// What B knows of A, or null.
  Endpoint* b_to_a() { return b.table.find(a.bootstrap.placement().self); }
  void send_from_a() {
    const bool has_left = a_to_b().try_send(
        ChannelKind::ud_send, 1, Sequencing::ordered, sizeof(FramePrefix) + sizeof(sent),
        [&](std::byte* body) { std::memcpy(body, &sent, sizeof(sent)); });
    ASSERT_TRUE(has_left);
    ++sent;
  }
  void pass(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      now += tick_ns;
      a.table.progress();
      b.table.progress();
    }
  }
  void expect_all_arrived() {
    pass(1000);
    ASSERT_EQ(b.handler.numbers.size(), sent);
    EXPECT_TRUE(a.table.is_drained() && b.table.is_drained());
    EXPECT_EQ(beside.rails[0].frames, 0U) << "a side link carries no frames";
  }

  std::uint64_t now = tick_ns;
  FakeNetwork network, beside;
  FakeBootstrap::Directory directory;
  End a{network, directory, 0, 1, now};
  End b{network, directory, 1, 1, now};
  FakeTransport a_beside{beside, 0, 0, a.table, "beside"};
  FakeTransport b_beside{beside, 1, 0, b.table, "beside"};
  std::uint32_t sent = 0;
};

TEST_F(TwoNetworks, TheFirstCarriesAllAndTheOtherOneIsNotConnectedUnasked) {
  send_from_a();
  expect_all_arrived();
  EXPECT_EQ(a_to_b().side_link(), nullptr);
  EXPECT_EQ(a_beside.connected, 0);
}

TEST_F(TwoNetworks, ASideLinkIsThereOnBothSidesAndReplacesNothing) {
  send_from_a();
  pass(10);
  a.table.seek_side_link(a_to_b());
  a.table.seek_side_link(a_to_b());
  EXPECT_EQ(a_beside.connected, 1);
  send_from_a();
  expect_all_arrived();
  EXPECT_EQ(a_to_b().side_link(), &a_beside.link(1));
  EXPECT_EQ(&a_to_b().link(), &a.transports[0]->link(1));
  ASSERT_NE(b_to_a(), nullptr);
  EXPECT_EQ(b_to_a()->side_link(), &b_beside.link(0));
  EXPECT_EQ(&b_to_a()->link(), &b.transports[0]->link(0));
}

TEST_F(TwoNetworks, WhoIsReachedByTheSideLinkFirstUsesTheOtherOneNoneTheLess) {
  a_to_b();
  network.rails[0].is_cut = true;  // what goes before it is late
  send_from_a();
  a.table.seek_side_link(a_to_b());
  pass(10);
  ASSERT_NE(b_to_a(), nullptr);
  EXPECT_TRUE(b_to_a()->is_open());
  EXPECT_EQ(&b_to_a()->link(), &b.transports[0]->link(0));
  EXPECT_EQ(b_to_a()->side_link(), &b_beside.link(0));
  network.rails[0].is_cut = false;
  send_from_a();
  expect_all_arrived();
}

TEST_F(TwoNetworks, WhatBecomesOfASideLinkConcernsNoFrames) {
  send_from_a();
  a.table.seek_side_link(a_to_b());
  pass(100);
  FakeLink& side = a_beside.link(1);
  a.table.on_channels_changed(side);
  a_beside.set_up(false);
  a.table.on_undelivered(side, {ChannelKind::ud_send});
  EXPECT_FALSE(a.table.on_channel_asked(side, ChannelKind::ring)) << "it is for payload alone";
  EXPECT_EQ(a.transports[0]->link(1).broken, 0);
  a.table.on_lost(side, "its connection was closed");
  EXPECT_EQ(a_to_b().side_link(), nullptr);
  EXPECT_FALSE(a_to_b().is_lost());
  a.table.on_channels_changed(side);  // events of a link that is not used any more
  a.table.on_lost(side, "again");
  a.table.seek_side_link(a_to_b());
  EXPECT_EQ(a_beside.connected, 1) << "it had its chance";
  send_from_a();
  expect_all_arrived();
}

TEST_F(TwoNetworks, APeerThatIsLostIsLostOnAllNetworks) {
  send_from_a();
  a.table.seek_side_link(a_to_b());
  expect_all_arrived();
  a.table.on_lost(a.transports[0]->link(1), "its process has ended");
  EXPECT_TRUE(a_to_b().is_lost());
  EXPECT_EQ(a.handler.lost, 1);
  EXPECT_EQ(a_beside.link(1).abandoned, 1);
  EXPECT_EQ(a_to_b().side_link(), nullptr);
}

TEST_F(TwoNetworks, WhoHasNoAddressThereIsReachedByTheFirstAlone) {
  std::erase_if(directory, [](const auto& entry) { return entry.first.second == "beside"; });
  send_from_a();
  a.table.seek_side_link(a_to_b());
  expect_all_arrived();
  EXPECT_EQ(a_to_b().side_link(), nullptr);
}

TEST_F(TwoNetworks, WhoPublishesItsAddressesWhileTheyAreLookedUpIsReachedByTheFirst) {
  const FakeBootstrap::Directory published = std::exchange(directory, {});
  a.bootstrap.after_look_up = [&] { directory = published; };
  a_to_b();
  pass(1);
  ASSERT_TRUE(a_to_b().is_open());
  EXPECT_EQ(&a_to_b().link(), &a.transports[0]->link(1));
  EXPECT_EQ(a_beside.connected, 0);
}

TEST_F(TwoNetworks, TheSecondCarriesFramesToWhomTheFirstDoesNotReach) {
  std::erase_if(directory, [](const auto& entry) { return entry.first.second == "fake"; });
  send_from_a();
  pass(1000);
  EXPECT_EQ(&a_to_b().link(), &a_beside.link(1));
  EXPECT_EQ(&b_to_a()->link(), &b_beside.link(0));
  EXPECT_EQ(b.handler.numbers.size(), 1U);
  EXPECT_GT(beside.rails[0].frames, 0U);
  a.table.seek_side_link(a_to_b());
  EXPECT_EQ(a_to_b().side_link(), nullptr);
}

}  // namespace
}  // namespace hawser::channel
