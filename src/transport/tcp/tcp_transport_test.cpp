#include "transport/tcp/tcp_transport.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "transport/contract_test.hpp"
#include "transport/tcp/test_end.hpp"

namespace hawser::transport {
namespace {

using tcp::settle;
using tcp::TcpLink;
using tcp::test_settings;
using TcpEnd = tcp::End<>;

constexpr ChannelKind kind = ChannelKind::tcp;

class TcpWorld final : public World {
 public:
  explicit TcpWorld(const tcp::Settings& settings) : a_(0, settings), b_(1, settings) {}

  Transport& sender() override { return *a_.transport; }
  Transport& receiver() override { return *b_.transport; }
  RecordingSink& sender_sink() override { return a_.sink; }
  RecordingSink& receiver_sink() override { return b_.sink; }
  Link& connect() override { return a_.connect(b_); }
  void settle() override { tcp::settle(a_, b_); }
  void settle_sender() override { tcp::settle(a_); }

 private:
  TcpEnd a_;
  TcpEnd b_;
};

ContractCase tcp_case(std::string name, const tcp::Settings& settings) {
  // How much the system takes is its own affair: a test of its own looks at that.
  return {.name = std::move(name),
          .make_world = [settings] { return std::make_unique<TcpWorld>(settings); },
          .channels = {kind},
          .earned = {},
          .is_bounded = false};
}

INSTANTIATE_TEST_SUITE_P(Tcp, TransportContract,
                         ::testing::Values(tcp_case("plain", test_settings()),
                                           tcp_case("encrypted", test_settings(true))));

std::byte* send(Link& link, std::size_t bytes, std::uint64_t number) {
  std::byte* const frame = link.reserve(kind, bytes);
  if (frame == nullptr) return nullptr;
  make_frame({frame, bytes}, number);
  link.commit(kind);
  return frame;
}
bool send_and_forget(Link& link, std::size_t bytes, std::uint64_t number) {
  std::byte* const frame = send(link, bytes, number);
  if (frame != nullptr) link.release(kind, frame);
  return frame != nullptr;
}

class Tcp : public ::testing::TestWithParam<bool> {
 protected:
  TcpEnd a{0, test_settings(GetParam())};
  TcpEnd b{1, test_settings(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(PlainAndEncrypted, Tcp, ::testing::Bool());

TEST_P(Tcp, TheOneThatIsReachedLearnsOfItsLinkOnceAndBothSend) {
  TcpLink& link = a.connect(b);
  EXPECT_TRUE(link.channels().empty());
  settle(a, b);
  ASSERT_EQ(b.sink.peers, std::vector<Identity>{a.self});
  EXPECT_EQ(a.sink.channels_changed, 1);
  EXPECT_EQ(b.sink.channels_changed, 1);
  EXPECT_TRUE(a.sink.links.empty());
  TcpLink& back = b.connect(a);
  EXPECT_EQ(&back, b.sink.links.at(0));
  EXPECT_TRUE(send_and_forget(link, 8, 0));
  EXPECT_TRUE(send_and_forget(back, 60'000, 1));
  settle(a, b);
  EXPECT_EQ(a.sink.arrivals.size(), 1U);
  EXPECT_EQ(b.sink.arrivals.size(), 1U);
  EXPECT_EQ(a.sink.damaged + b.sink.damaged, 0);
  EXPECT_GT(a.bytes_sent(), 8U);
}

TEST_P(Tcp, BothConnectingAtOnceKeepOneConnection) {
  for (const bool a_first : {true, false}) {
    TcpEnd c(2, test_settings(GetParam()));
    TcpEnd d(3, test_settings(GetParam()));
    TcpLink& to_d = c.connect(d);
    TcpLink& to_c = d.connect(c);
    if (a_first) c.transport->progress();
    settle(d, c);
    for (TcpEnd* end : {&c, &d}) {
      EXPECT_TRUE(end->sink.links.empty());
      EXPECT_EQ(end->sink.channels_changed, 1);
      EXPECT_TRUE(end->sink.undelivered.empty());
      EXPECT_TRUE(end->sink.lost.empty());
      EXPECT_EQ(end->transport->visitors(), 0U);
    }
    EXPECT_TRUE(send_and_forget(to_d, 100, 1));
    EXPECT_TRUE(send_and_forget(to_c, 100, 2));
    settle(d, c);
    EXPECT_EQ(c.sink.arrivals.size(), 1U);
    EXPECT_EQ(d.sink.arrivals.size(), 1U);
  }
}

TEST_P(Tcp, ALinkFillsUpAndGoesOnWhenThePeerReads) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  std::uint64_t sent = 0;
  for (int round = 0; round < 3; ++round) {
    constexpr std::uint64_t frames_max = 10'000;
    while (send_and_forget(link, tcp::frame_bytes_max, sent) && sent < frames_max) ++sent;
    ASSERT_LT(sent, frames_max);
    EXPECT_FALSE(a.transport->is_drained());
    settle(a, b);
    EXPECT_TRUE(a.transport->is_drained());
    ASSERT_EQ(b.sink.arrivals.size(), sent);
  }
  EXPECT_EQ(b.sink.damaged, 0);
  for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(b.sink.arrivals[i].number, i);
}

TEST_P(Tcp, WhatIsKeptTakesRoomUntilItIsReleased) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  std::vector<std::byte*> frames;
  while (std::byte* const frame = send(link, 8, frames.size())) frames.push_back(frame);
  EXPECT_GE(frames.size(), 100U);
  settle(a, b);
  EXPECT_EQ(link.reserve(kind, 8), nullptr);
  EXPECT_TRUE(send_and_forget(link, tcp::frame_bytes_max, 0)) << "those have room of their own";
  EXPECT_EQ(link.resend(kind, frames[0], 8, false), Link::Resent::under_way);
  EXPECT_EQ(link.resend(kind, frames[0], 8, true), Link::Resent::sent);
  EXPECT_TRUE(link.send_once(kind, std::array<std::byte, 8>{})) << "what nobody keeps needs none";
  for (std::byte* frame : frames) link.release(kind, frame);
  settle(a, b);
  EXPECT_TRUE(send_and_forget(link, 8, 0));
}

TEST_P(Tcp, AConnectionThatBreaksIsMadeAnewByWhoHasTheAddress) {
  for (const bool by_caller : {true, false}) {
    TcpEnd c(2, test_settings(GetParam()));
    TcpEnd d(3, test_settings(GetParam()));
    TcpLink& link = c.connect(d);
    settle(c, d);
    auto& back = static_cast<TcpLink&>(*d.sink.links.at(0));
    (by_caller ? link : back).cut();
    const auto is_back = [&] {
      return c.sink.channels_changed == 3 && d.sink.channels_changed >= 2 &&
             link.channels().has(kind) && back.channels().has(kind);
    };
    ASSERT_TRUE(tcp::poll_until(is_back, c, d));
    EXPECT_EQ(c.sink.undelivered, std::vector<ChannelSet>{{kind}});
    EXPECT_EQ(d.sink.undelivered, std::vector<ChannelSet>{{kind}});
    EXPECT_TRUE(send_and_forget(link, 100, 7));
    EXPECT_TRUE(send_and_forget(back, 100, 8));
    settle(c, d);
    EXPECT_EQ(c.sink.arrivals.size(), 1U);
    EXPECT_EQ(d.sink.arrivals.size(), 1U);
    EXPECT_TRUE(c.sink.lost.empty() && d.sink.lost.empty());
  }
}

TEST_P(Tcp, AFrameOfABrokenConnectionIsSentAgainByTheNewOne) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  std::byte* const frame = send(link, 3000, 5);
  EXPECT_TRUE(link.is_under_way(frame));
  EXPECT_EQ(link.resend(kind, frame, 3000, false), Link::Resent::under_way);
  settle(a, b);
  ASSERT_EQ(b.sink.arrivals.size(), 1U);
  link.cut();
  ASSERT_TRUE(tcp::poll_until([&] { return a.sink.channels_changed == 3; }, a, b));
  EXPECT_FALSE(link.is_under_way(frame));
  EXPECT_EQ(link.resend(kind, frame, 3000, false), Link::Resent::sent);
  link.release(kind, frame);
  settle(a, b);
  ASSERT_EQ(b.sink.arrivals.size(), 2U);
  EXPECT_EQ(b.sink.arrivals[1].number, 5U);
  EXPECT_EQ(b.sink.damaged, 0);
}

TEST_P(Tcp, APeerThatHasGoneIsLostInTheEndWithASentence) {
  TcpEnd c(2, test_settings(GetParam(), 1));
  TcpLink& link = c.connect(b);
  settle(c, b);
  b.transport.reset();
  ASSERT_TRUE(tcp::poll_until([&] { return !c.sink.lost.empty(); }, c));
  EXPECT_TRUE(link.channels().empty());
  EXPECT_NE(c.sink.lost[0].find("127.0.0.1 port"), std::string::npos) << c.sink.lost[0];
  EXPECT_NE(c.sink.lost[0].find("refused"), std::string::npos) << c.sink.lost[0];
}

TEST_P(Tcp, APeerThatHasLeftIsNotLookedForWhenItCloses) {
  TcpEnd c(2, test_settings(GetParam(), 1));
  TcpLink& link = c.connect(b);
  settle(c, b);
  b.transport->leave();
  settle(c);
  EXPECT_TRUE(link.is_away());
  b.transport.reset();
  settle(c);
  EXPECT_TRUE(link.is_away());
  EXPECT_TRUE(c.sink.lost.empty());
  EXPECT_TRUE(c.transport->is_drained());
  EXPECT_TRUE(link.channels().empty());
}

TEST_P(Tcp, NothingComesOrGoesAfterAPeerWasAbandoned) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  EXPECT_TRUE(send_and_forget(*b.sink.links.at(0), 8, 0));
  link.abandon();
  EXPECT_TRUE(link.channels().empty());
  EXPECT_EQ(link.reserve(kind, 8), nullptr);
  settle(a, b);
  EXPECT_TRUE(a.sink.arrivals.empty());
  EXPECT_TRUE(a.sink.lost.empty());
}

TEST_P(Tcp, AnAnswerThatNobodyWaitsForGoesWithTheNextRound) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  std::array<std::byte, 16> answer{};
  make_frame(answer, 3);
  EXPECT_TRUE(link.send_once(kind, answer));
  EXPECT_EQ(a.transport->deadline_ns(), 0U);
  EXPECT_FALSE(a.transport->is_drained());
  settle(a, b);
  ASSERT_EQ(b.sink.arrivals.size(), 1U);
  EXPECT_EQ(b.sink.arrivals[0].bytes, 16U);
  // They are bounded, and never take a frame's room.
  int more = 0;
  while (more < 1000 && link.send_once(kind, answer)) ++more;
  EXPECT_LT(more, 1000);
}

TEST_P(Tcp, MemoryToReadIntoIsGivenBackWhenNothingComes) {
  a.connect(b);
  settle(a, b);
  const auto memory = [&] { return b.ledger.current_bytes(memory::Account::network_buffers); };
  const std::int64_t before = memory();
  EXPECT_LE(before, 600'000) << "one buffer stays for the next that comes";
}

/// TAKER gets one frame after the other by LINK, and never thinks of sleeping.
void send_many(Link& link, TcpEnd& taker) {
  constexpr std::uint64_t frames = 200;
  const std::uint64_t until_ns = platform::monotonic_ns() + 20'000'000'000;
  for (std::uint64_t i = 0; i < frames; ++i) {
    const std::size_t wanted = taker.sink.arrivals.size() + 1;
    ASSERT_TRUE(send_and_forget(link, 8, i));
    while (taker.sink.arrivals.size() < wanted && platform::monotonic_ns() < until_ns)
      taker.transport->progress();
    ASSERT_EQ(taker.sink.arrivals.size(), wanted);
  }
}

/// Whether the system tells of something that END could read, within a while.
bool is_told(const TcpEnd& end, int while_ms) {
  pollfd wanted{end.transport->descriptor(), POLLIN, 0};
  return ::poll(&wanted, 1, while_ms) == 1;
}
constexpr int moment_ms = 20;
constexpr int patience_ms = 10'000;

TEST_P(Tcp, WhoGoesOnSendingIsWatchedByTheSystemAgainBeforeASleep) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  send_many(link, b);
  ASSERT_TRUE(send_and_forget(link, 8, 0));
  EXPECT_FALSE(is_told(b, moment_ms));
  b.transport->arm();
  EXPECT_TRUE(is_told(b, patience_ms));
  const std::size_t before = b.sink.arrivals.size();
  b.transport->progress();
  EXPECT_EQ(b.sink.arrivals.size(), before + 1);
}

TEST_P(Tcp, WhoHasStoppedSendingIsWatchedByTheSystemAgain) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  send_many(link, b);
  constexpr int quiet_rounds = 100;
  for (int i = 0; i < quiet_rounds; ++i) b.transport->progress();
  ASSERT_TRUE(send_and_forget(link, 8, 0));
  EXPECT_TRUE(is_told(b, patience_ms));
}

TEST_P(Tcp, AnotherPeerIsHeardBesideOneThatGoesOnSending) {
  TcpLink& link = a.connect(b);
  TcpEnd c(2, test_settings(GetParam()));
  TcpLink& other = c.connect(b);
  settle(a, b, c);
  send_many(link, b);
  ASSERT_TRUE(send_and_forget(other, 8, 1));
  ASSERT_TRUE(is_told(b, patience_ms));
  const std::size_t before = b.sink.arrivals.size();
  constexpr int rounds_max = 20;
  for (int i = 0; i < rounds_max; ++i) b.transport->progress();
  EXPECT_EQ(b.sink.arrivals.size(), before + 1);
  // Both are heard of from now on.
  ASSERT_TRUE(send_and_forget(link, 8, 2));
  settle(b);
  EXPECT_EQ(b.sink.arrivals.size(), before + 2);
}

TEST_P(Tcp, ToWhomMuchIsSentThatDoesNotReadIsWatchedThoughItGoesOnSending) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  Link& back = *b.sink.links.at(0);
  send_many(link, b);
  std::uint64_t sent = 0;
  while (send_and_forget(back, tcp::frame_bytes_max, sent)) ++sent;
  EXPECT_FALSE(b.transport->is_drained());
  settle(a, b);
  EXPECT_TRUE(b.transport->is_drained());
  EXPECT_EQ(a.sink.arrivals.size(), sent);
}

TEST_P(Tcp, OneThatGoesOnSendingAndBreaksIsMadeAnew) {
  TcpLink& link = a.connect(b);
  settle(a, b);
  send_many(link, b);
  link.cut();
  const auto is_back = [&] { return a.sink.channels_changed == 3 && link.channels().has(kind); };
  ASSERT_TRUE(tcp::poll_until(is_back, a, b));
  send_many(link, b);
}

TEST(TcpSettings, DifferentWishesAreASentenceForTheUser) {
  TcpEnd plain(0, test_settings(false, 1));
  TcpEnd secret(1, test_settings(true, 1));
  plain.connect(secret);
  ASSERT_TRUE(tcp::poll_until([&] { return !plain.sink.lost.empty(); }, plain, secret));
  EXPECT_NE(plain.sink.lost[0].find("it has tcp.encrypt=on, and this process off"),
            std::string::npos)
      << plain.sink.lost[0];
  EXPECT_TRUE(secret.sink.links.empty());
  EXPECT_GE(secret.transport->turned_away(), 1U);
}

TEST(TcpSettings, AddressesOfVersion6LeadToPeersToo) {
  const tcp::Settings v6{.include = "::1", .exclude = "", .encrypt = false, .timeout_s = 15};
  const auto all = platform::interface_addresses();
  if (!tcp::choose_addresses(*all, v6)) GTEST_SKIP() << "this host has no IPv6";
  TcpEnd c(0, v6);
  TcpEnd d(1, v6);
  TcpLink& link = c.connect(d);
  settle(c, d);
  EXPECT_TRUE(link.channels().has(kind));
}

TEST(TcpSettings, AProcessWithoutAddressesCannotOpen) {
  RecordingSink sink;
  memory::Ledger ledger;
  const auto opened = tcp::TcpTransport::open(
      {{1, 0, 0}, tcp::test_key(), nullptr, &ledger, &sink, platform::monotonic_ns},
      {.include = "nothing0", .exclude = ""});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().sentence().find("lo 127.0.0.1/8"), std::string::npos);
}

}  // namespace
}  // namespace hawser::transport
