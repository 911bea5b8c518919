// Two processes over a network of two rails.
#include "channel/endpoint/endpoint_table.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

constexpr std::uint64_t ms = 1'000'000;

class TwoRails : public ::testing::Test {
 protected:
  /// Sends the next COUNT frames, while time passes.
  void send(std::uint32_t count) {
    Endpoint& peer = a.table.find_or_make(b.bootstrap.placement().self);
    const std::uint32_t end = sent + count;
    for (int rounds = 0; sent < end && rounds < 100'000; ++rounds) {
      const bool has_left =
          peer.is_open() && peer.try_send(peer.frame_channel(), 1, Sequencing::ordered,
                                          sizeof(FramePrefix) + sizeof(sent), [&](std::byte* body) {
                                            std::memcpy(body, &sent, sizeof(sent));
                                          });
      if (has_left) ++sent;
      step();
    }
    ASSERT_EQ(sent, end);
  }
  void step() {
    now += ms / 10;
    a.table.progress();
    b.table.progress();
  }
  void pass(std::uint64_t time_ns) {
    for (const std::uint64_t until = now + time_ns; now < until;) step();
  }
  void expect_all_arrived() {
    for (int rounds = 0; b.handler.numbers.size() < sent && rounds < 100'000; ++rounds) step();
    ASSERT_EQ(b.handler.numbers.size(), sent);
    for (std::uint32_t number = 0; number < sent; ++number)
      ASSERT_EQ(b.handler.numbers[number], number) << "in order, and once";
    pass(50 * ms);
    EXPECT_TRUE(a.table.is_drained() && b.table.is_drained());
  }

  std::uint64_t now = ms;
  FakeNetwork network;
  FakeBootstrap::Directory directory;
  End a{network, directory, 0, 2, now};
  End b{network, directory, 1, 2, now};
  std::uint32_t sent = 0;
};

TEST_F(TwoRails, TheFirstIsUsedAndTheOtherOneNotEvenConnected) {
  send(100);
  expect_all_arrived();
  EXPECT_EQ(network.rails[1].frames, 0U);
  EXPECT_FALSE(a.transports[1]->has_link(1));
}

TEST_F(TwoRails, WhenAPortGoesDownItsFramesGoOnByTheOtherRail) {
  send(20);
  network.rails[0].is_cut = true;  // what leaves now is lost
  send(8);
  a.transports[0]->set_up(false);
  EXPECT_EQ(a.transports[0]->link(1).broken, 1);
  send(30);
  expect_all_arrived();
  EXPECT_GE(a.transports[1]->link(1).copies, 8);
  EXPECT_GE(network.rails[1].frames, 38U);
}

TEST_F(TwoRails, NothingIsCopiedThatABrokenConnectionMayYetMakeVoid) {
  send(20);
  pass(50 * ms);
  FakeLink& first = a.transports[0]->link(1);
  first.has_connection = true;
  network.rails[0].is_cut = true;
  send(8);
  a.transports[0]->set_up(false);
  pass(500 * ms);
  EXPECT_EQ(a.transports[1]->link(1).copies, 0);
  first.has_connection = false;  // it has ended
  a.table.on_undelivered(first, {ChannelKind::ud_send});
  expect_all_arrived();
  EXPECT_GE(a.transports[1]->link(1).copies, 8);
}

TEST_F(TwoRails, APortThatComesBackIsUsedAgain) {
  send(5);
  a.transports[0]->set_up(false);
  send(20);
  a.transports[0]->set_up(true);
  expect_all_arrived();
  const std::size_t before = network.rails[1].frames;
  send(20);
  expect_all_arrived();
  EXPECT_EQ(network.rails[1].frames, before);
  EXPECT_EQ(a.transports[1]->link(1).broken, 0) << "there it may still arrive";
}

/// It was never suspect, as nobody used it when it failed.
TEST_F(TwoRails, WhatARailThatIsNotUsedAnyMoreHasLostGoesOnByTheOther) {
  send(20);
  a.transports[0]->set_up(false);
  send(10);
  network.rails[1].is_cut = true;
  send(4);
  a.transports[0]->set_up(true);
  ASSERT_EQ(a.table.find(b.bootstrap.placement().self)->rail_number(), 0);
  send(10);
  expect_all_arrived();
  EXPECT_GE(a.transports[0]->link(1).copies, 4);
}

TEST_F(TwoRails, ARailThatIsSilentWithoutAnEventIsTakenOutForAWhile) {
  send(20);
  network.rails[0].is_cut = true;
  send(40);
  expect_all_arrived();
  const std::size_t by_first = network.rails[0].frames;
  const std::size_t by_other = network.rails[1].frames;
  EXPECT_GE(by_other, 40U);
  network.rails[0].is_cut = false;
  send(20);
  EXPECT_LE(network.rails[0].frames, by_first + 1) << "it is suspect for a second";
  pass(2 * Rails::suspect_ns);
  const std::size_t before = network.rails[0].frames;
  send(20);
  expect_all_arrived();
  EXPECT_GE(network.rails[0].frames, before + 20) << "then it has another chance";
}

TEST_F(TwoRails, ThePortOfThePeerMayBeTheOneThatIsDown) {
  send(20);
  b.transports[0]->set_up(false);
  send(40);
  expect_all_arrived();
  EXPECT_GE(network.rails[1].frames, 40U);
}

TEST_F(TwoRails, ABusyPeerIsNotTakenForAFailedRail) {
  send(10);
  for (int i = 0; i < 1000; ++i) {  // 100 ms
    now += ms / 10;
    a.table.progress();
    Endpoint& peer = *a.table.find(b.bootstrap.placement().self);
    const bool has_left = peer.try_send(
        peer.frame_channel(), 1, Sequencing::ordered, sizeof(FramePrefix) + sizeof(sent),
        [&](std::byte* body) { std::memcpy(body, &sent, sizeof(sent)); });
    if (has_left) ++sent;
  }
  expect_all_arrived();
  EXPECT_EQ(a.transports[0]->link(1).broken, 0);
  EXPECT_EQ(a.table.find(b.bootstrap.placement().self)->link().rail_number, 0);
}

TEST(OneRail, RepeatsUntilItsPortIsUp) {
  std::uint64_t now = ms;
  FakeNetwork network;
  FakeBootstrap::Directory directory;
  End a(network, directory, 0, 2, now);
  End b(network, directory, 1, 1, now);
  Endpoint& peer = a.table.find_or_make(b.bootstrap.placement().self);
  a.transports[0]->set_up(false);
  const auto step = [&] {
    now += ms;
    a.table.progress();
    b.table.progress();
  };
  const std::uint32_t number = 7;
  ASSERT_TRUE(peer.try_send(ChannelKind::ud_send, 1, Sequencing::ordered,
                            sizeof(FramePrefix) + sizeof(number),
                            [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); }));
  for (int i = 0; i < 100; ++i) step();
  EXPECT_TRUE(b.handler.numbers.empty());
  EXPECT_FALSE(peer.is_lost());
  a.transports[0]->set_up(true);
  for (int i = 0; i < 3000; ++i) step();
  EXPECT_EQ(b.handler.numbers, std::vector<std::uint32_t>{7});
}

TEST(OneRail, WaitsWhileItsConnectionIsMadeAnewAndSendsAgainWhatItLost) {
  std::uint64_t now = ms;
  FakeNetwork network;
  FakeBootstrap::Directory directory;
  End a(network, directory, 0, 1, now);
  End b(network, directory, 1, 1, now);
  Endpoint& peer = a.table.find_or_make(b.bootstrap.placement().self);
  const auto send = [&](std::uint32_t number) {
    peer.send(1, sizeof(FramePrefix) + sizeof(number),
              [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); });
  };
  const auto run = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      now += ms;
      a.table.progress();
      b.table.progress();
    }
  };
  send(0);
  run(20);
  EXPECT_EQ(b.handler.numbers, std::vector<std::uint32_t>{0});

  network.rails[0].is_cut = true;
  send(1);
  FakeLink& link = a.transports[0]->link(1);
  link.set_channels({});
  a.table.on_undelivered(link, {ChannelKind::ud_send});
  a.table.on_channels_changed(link);
  EXPECT_FALSE(peer.is_open());
  network.rails[0].is_cut = false;
  send(2);
  run(3000);
  EXPECT_EQ(b.handler.numbers.size(), 1U);
  EXPECT_FALSE(a.table.is_drained());

  link.set_channels({ChannelKind::ud_send});
  a.table.on_channels_changed(link);
  EXPECT_TRUE(peer.is_open());
  run(4);
  EXPECT_EQ(b.handler.numbers, (std::vector<std::uint32_t>{0, 1, 2})) << "before any time is up";
  run(20);
  EXPECT_TRUE(a.table.is_drained() && b.table.is_drained());
}

TEST_F(TwoRails, WhatTheDeadHadSentIsDroppedWhenItComesLate) {
  b.table.lose(a.bootstrap.placement().self, "it has died");
  send(3);
  pass(50 * ms);
  EXPECT_EQ(b.handler.numbers.size(), 0U);
  EXPECT_EQ(b.transports[0]->link(0).abandoned, 1);
}

TEST_F(TwoRails, WhatTheDeadHadSentByALinkInUseIsDroppedAsWell) {
  send(3);
  expect_all_arrived();
  b.table.lose(a.bootstrap.placement().self, "it has died");
  send(3);
  pass(50 * ms);
  EXPECT_EQ(b.handler.numbers.size(), 3U);
}

TEST_F(TwoRails, WhoOfAnotherJobHasEndedIsForgottenOnceNobodyNeedsIt) {
  constexpr Identity stranger{2, 0, 0};
  const std::int64_t before = a.ledger.current_bytes(memory::Account::endpoints);
  Endpoint& peer = a.table.find_or_make(stranger);
  ASSERT_TRUE(peer.is_lost()) << "nobody has told where it is";
  peer.count_sent(ChannelKind::tcp, 100);
  send(1);  // to one of the own job
  a.table.forget_ended([&](const Identity& process) { return process == stranger; });
  EXPECT_EQ(a.table.find(stranger), &peer);
  const std::int64_t with = a.ledger.current_bytes(memory::Account::endpoints);
  a.table.forget_ended([](const Identity&) { return false; });
  EXPECT_EQ(a.table.find(stranger), nullptr);
  EXPECT_EQ(a.handler.forgotten, 1);
  EXPECT_NE(a.table.find(b.bootstrap.placement().self), nullptr);
  const std::int64_t without = a.ledger.current_bytes(memory::Account::endpoints);
  EXPECT_LT(without, with);
  EXPECT_GT(without, before);
  std::uint64_t bytes = 0;
  a.table.for_each([&](const Endpoint& each) { bytes += each.sent(ChannelKind::tcp).bytes; });
  EXPECT_EQ(bytes, 100U) << "what was counted stays";
  expect_all_arrived();
}

}  // namespace
}  // namespace hawser::channel
