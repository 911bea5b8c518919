// Two processes over real TCP connections that are cut again and again: nothing is lost, doubled or
// out of order.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "channel/endpoint/fake_end.hpp"
#include "platform/bell.hpp"
#include "platform/clock.hpp"
#include "transport/tcp/tcp_transport.hpp"

namespace hawser::session {
namespace {

using channel::Endpoint;
using transport::ChannelKind;

/// A process with a TCP transport alone.
struct TcpProcess {
  TcpProcess(channel::FakeBootstrap::Directory& directory, std::uint32_t index, bool encrypts)
      : bootstrap(directory, index),
        table({bootstrap.placement().self, &addresses, &bootstrap, &ledger, &policy, settings, 0,
               assurance, *channel::DeliveryChannels::parse(assurance), platform::monotonic_ns}),
        alone(nobody, index, 0, table) {
    table.set_handler(handler);
    table.set_self_transport(alone);
    const transport::tcp::Settings how{.include = "lo", .encrypt = encrypts};
    tcp = std::move(*transport::tcp::TcpTransport::open(
        {bootstrap.placement().self, {}, &ledger, &table, platform::monotonic_ns}, how));
    EXPECT_TRUE(bootstrap.publish(tcp->name(), *tcp->address()).ok());
    table.add_transport(*tcp);
  }
  ~TcpProcess() { table.give_frames_back(); }

  channel::PolicySettings settings;
  channel::AssuranceSettings assurance;
  memory::Ledger ledger;
  channel::Policy policy = channel::policy_of(settings);
  channel::RecordingHandler handler;
  channel::FakeBootstrap bootstrap;
  bootstrap::AddressBook addresses{bootstrap};
  channel::EndpointTable table;
  channel::FakeNetwork nobody;
  channel::FakeTransport alone;
  std::unique_ptr<transport::tcp::TcpTransport> tcp;
};

class TcpCuts : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint32_t messages = 4000;
  static constexpr int cuts = 25;

  /// The next of OWN messages to PEER, of any length, if there is room.
  void send(Endpoint& peer, std::uint32_t& sent) {
    if (sent == messages || !peer.is_open()) return;
    const std::size_t bytes = sizeof(channel::FramePrefix) + sizeof(sent) +
                              random() % (random() % 8 == 0 ? 60'000 : 1000);
    const std::size_t rest = bytes - sizeof(channel::FramePrefix) - sizeof(sent);
    if (peer.try_send(ChannelKind::tcp, 1, channel::Sequencing::ordered, bytes,
                      [&](std::byte* body) {
                        std::memcpy(body, &sent, sizeof(sent));
                        std::memset(body + sizeof(sent), 1, rest);
                      }))
      ++sent;
  }
  void progress() {
    for (TcpProcess* each : {&a, &b}) {
      each->table.arm();
      each->table.progress();
    }
  }

  channel::FakeBootstrap::Directory directory;
  TcpProcess a{directory, 0, GetParam()};
  TcpProcess b{directory, 1, GetParam()};
  std::mt19937 random{7};
};
INSTANTIATE_TEST_SUITE_P(PlainAndEncrypted, TcpCuts, ::testing::Bool());

TEST_P(TcpCuts, LoseAndDoubleNothing) {
  Endpoint& to_b = a.table.find_or_make(b.bootstrap.placement().self);
  Endpoint& to_a = b.table.find_or_make(a.bootstrap.placement().self);
  std::uint32_t sent_by_a = 0;
  std::uint32_t sent_by_b = 0;
  int cut = 0;
  constexpr std::uint64_t patience_ns = 60'000'000'000;
  const std::uint64_t until_ns = platform::monotonic_ns() + patience_ns;
  const auto is_done = [&] {
    return a.handler.numbers.size() >= messages && b.handler.numbers.size() >= messages;
  };
  while (!is_done() && platform::monotonic_ns() < until_ns) {
    send(to_b, sent_by_a);
    send(to_a, sent_by_b);
    progress();
    if (cut < cuts && sent_by_a > messages / cuts * static_cast<std::uint32_t>(cut) + 50) {
      Endpoint& side = ++cut % 2 == 0 ? to_b : to_a;
      static_cast<transport::tcp::TcpLink&>(side.link()).cut();
    }
  }
  EXPECT_EQ(cut, cuts);
  std::vector<std::uint32_t> expected(messages);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(a.handler.numbers, expected);
  EXPECT_EQ(b.handler.numbers, expected);
  EXPECT_EQ(a.handler.lost + b.handler.lost, 0);
  EXPECT_GT(to_b.sent_again() + to_a.sent_again(), 0U);
}

TEST_P(TcpCuts, AMessageWaitsForTheFirstConnection) {
  Endpoint& to_b = a.table.find_or_make(b.bootstrap.placement().self);
  const std::uint32_t number = 3;
  to_b.send(1, sizeof(channel::FramePrefix) + sizeof(number),
            [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); });
  const std::uint64_t until_ns = platform::monotonic_ns() + 20'000'000'000;
  while (b.handler.numbers.empty() && platform::monotonic_ns() < until_ns) progress();
  EXPECT_EQ(b.handler.numbers, std::vector<std::uint32_t>{number});
}

}  // namespace
}  // namespace hawser::session
