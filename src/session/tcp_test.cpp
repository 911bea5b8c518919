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
  TcpProcess(channel::FakeBootstrap::Directory& directory, std::uint32_t index, bool encrypts,
             std::int64_t idle_s = 0,
             const std::vector<platform::InterfaceAddress>& interfaces = {})
      : bootstrap(directory, index),
        table({bootstrap.placement().self, &addresses, &bootstrap, &ledger, &policy, settings, 0,
               assurance, *channel::DeliveryChannels::parse(assurance), platform::monotonic_ns}),
        alone(nobody, index, 0, table) {
    table.set_handler(handler);
    table.set_self_transport(alone);
    const transport::tcp::Settings how{
        .include = interfaces.empty() ? "lo" : "", .encrypt = encrypts, .idle_s = idle_s};
    tcp = std::move(*transport::tcp::TcpTransport::open({bootstrap.placement().self,
                                                         {},
                                                         nullptr,
                                                         &ledger,
                                                         &table,
                                                         platform::monotonic_ns,
                                                         interfaces},
                                                        how));
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

struct Cutting {
  bool encrypts;
  std::vector<platform::InterfaceAddress> interfaces = {};  // of each process
};

/// As if of two interfaces, each of which reaches but the same one of another process.
platform::InterfaceAddress part_of_loopback(const std::string& name, std::uint8_t last) {
  return {name, {.bytes = {127, 0, 0, last}}, 32};
}

class TcpCuts : public ::testing::TestWithParam<Cutting> {
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
  TcpProcess a{directory, 0, GetParam().encrypts, 0, GetParam().interfaces};
  TcpProcess b{directory, 1, GetParam().encrypts, 0, GetParam().interfaces};
  std::mt19937 random{7};
};
INSTANTIATE_TEST_SUITE_P(PlainAndEncrypted, TcpCuts,
                         ::testing::Values(Cutting{false}, Cutting{true}));
INSTANTIATE_TEST_SUITE_P(
    SeveralInterfaces, TcpCuts,
    ::testing::Values(Cutting{false, {part_of_loopback("one", 1), part_of_loopback("two", 2)}},
                      Cutting{true,
                              {part_of_loopback("one", 1), part_of_loopback("two", 2),
                               part_of_loopback("three", 3)}}));

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
      static_cast<transport::tcp::TcpLink&>(side.link()).cut(random() % 3);
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

/// Two processes whose connection ends when nobody uses it.
class TcpRest : public ::testing::Test {
 protected:
  static void send(Endpoint& to, std::uint32_t number) {
    to.send(1, sizeof(channel::FramePrefix) + sizeof(number),
            [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); });
  }
  template <class Done>
  bool progress_until(Done&& done) {
    const std::uint64_t until_ns = platform::monotonic_ns() + 20'000'000'000;
    while (!done() && platform::monotonic_ns() < until_ns)
      for (TcpProcess* each : {&a, &b}) {
        each->table.arm();
        each->table.progress();
      }
    return done();
  }
  [[nodiscard]] std::uint64_t connections() const {
    return a.tcp->connections().now + b.tcp->connections().now;
  }

  channel::FakeBootstrap::Directory directory;
  TcpProcess a{directory, 0, false, 1};
  TcpProcess b{directory, 1, false, 1};
};

TEST_F(TcpRest, EndsAtTheNextMessageOfWhoeverSendsOne) {
  Endpoint& to_b = a.table.find_or_make(b.bootstrap.placement().self);
  send(to_b, 1);
  ASSERT_TRUE(progress_until([&] { return b.handler.numbers.size() == 1 && connections() == 0; }));
  EXPECT_FALSE(to_b.is_lost());
  EXPECT_TRUE(to_b.is_open());
  Endpoint& to_a = b.table.find_or_make(a.bootstrap.placement().self);
  send(to_a, 2);
  b.table.note_waiting(to_a);
  ASSERT_TRUE(progress_until([&] { return a.handler.numbers.size() == 1 && connections() == 0; }));
  send(to_b, 3);
  a.table.note_waiting(to_b);
  ASSERT_TRUE(progress_until([&] { return b.handler.numbers.size() == 2; }));
  EXPECT_EQ(b.handler.numbers, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(a.handler.lost + b.handler.lost, 0);
}

TEST_F(TcpRest, NobodyConnectsToSayGoodBye) {
  send(a.table.find_or_make(b.bootstrap.placement().self), 1);
  ASSERT_TRUE(progress_until([&] { return b.handler.numbers.size() == 1 && connections() == 0; }));
  a.table.part(true);
  b.table.part(true);
  EXPECT_TRUE(a.table.is_drained());
  EXPECT_TRUE(b.table.is_drained());
  EXPECT_EQ(connections(), 0U);
}

}  // namespace
}  // namespace hawser::session
