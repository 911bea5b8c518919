// What simulated connections do, and that the simulator notices when a process has too many of them
// or its peer knows nothing of one.
#include "sim/connections.hpp"

#include <gtest/gtest.h>

#include "sim/network.hpp"
#include "sim/sim_connection.hpp"

namespace hawser::sim {
namespace {

constexpr std::uint32_t low = 0;
constexpr std::uint32_t high = 1;

/// Two processes with nothing but a connection.
class ConnectionsTest : public ::testing::Test {
 protected:
  ConnectionsTest() {
    scheduler.spawn([this] {
      constexpr std::uint64_t end_ns = 1'000'000;
      while (scheduler.now_ns() < end_ns) {
        scheduler.prepare(low);
        scheduler.sleep(low, end_ns);
      }
    });
    scheduler.spawn([] {});
  }

  static NetworkSettings settings() {
    NetworkSettings settings;
    settings.delay_ns_max.fill(1000);
    settings.connection_slots = 4;
    settings.broken_noticed_ns_max = 100;
    return settings;
  }

  void connect() {
    lows = connections.make(low, high);
    highs = connections.make(high, low);
    connections.connect(lows, highs);
    connections.connect(highs, lows);
    connections.open(lows);
    connections.open(highs);
  }
  void send(std::size_t bytes, ChannelKind kind = ChannelKind::rc_send) {
    connections.send(lows, {low, Parcel::frame, kind, nullptr, bytes});
  }
  /// Until nothing is on its way any more.
  void pass_time() { EXPECT_EQ(scheduler.run(), ""); }

  Trace trace{false};
  Scheduler scheduler{1, trace};
  Network network{scheduler, settings(), 1, 2};
  Connections& connections = network.connections();
  Connections::PairNumber lows = Connections::none;
  Connections::PairNumber highs = Connections::none;
};

TEST_F(ConnectionsTest, FramesOfAKindArriveInTheirOrder) {
  connect();
  for (std::size_t i = 0; i < 20; ++i) send(i);
  EXPECT_FALSE(connections.is_idle(lows));
  pass_time();
  EXPECT_TRUE(connections.is_idle(lows));
  for (std::size_t i = 0; i < 20; ++i) {
    const Arrival arrival = network.mailbox(high).take();
    EXPECT_EQ(arrival.from, low);
    EXPECT_EQ(arrival.pair, highs);
    EXPECT_EQ(arrival.senders_pair, lows);
    EXPECT_EQ(arrival.bytes, i);
  }
  EXPECT_TRUE(network.mailbox(high).is_empty());
}

TEST_F(ConnectionsTest, RoomIsFreeAgainWhenTheReceiverIsDone) {
  connect();
  for (std::size_t i = 0; i < settings().connection_slots; ++i)
    EXPECT_TRUE(connections.claim_room(lows));
  EXPECT_FALSE(connections.claim_room(lows));
  EXPECT_TRUE(connections.claim_room(highs)) << "the other way has room of its own";
  connections.free_room(lows);
  EXPECT_TRUE(connections.claim_room(lows));
}

TEST_F(ConnectionsTest, WhoSendsToAQueuePairThatIsGoneHearsOfIt) {
  connect();
  connections.destroy(highs);
  send(8);
  pass_time();
  EXPECT_TRUE(network.mailbox(high).is_empty());
  const Arrival notice = network.mailbox(low).take();
  EXPECT_EQ(notice.parcel, Parcel::broken);
  EXPECT_EQ(notice.pair, lows);
  EXPECT_FALSE(connections.is_idle(lows)) << "nobody took what was sent";
}

TEST_F(ConnectionsTest, BothMustKnowOfAConnection) {
  connect();
  EXPECT_EQ(connections.disagreement(), "");
  connections.destroy(highs);
  EXPECT_EQ(connections.disagreement(),
            "process 0 has a connection that its peer knows nothing of");
}

TEST_F(ConnectionsTest, AQueuePairThatWasNeverOpenedLeadsNowhere) {
  connections.make(low, high);
  EXPECT_EQ(connections.disagreement(), "process 0 has a queue pair that leads nowhere");
}

TEST_F(ConnectionsTest, OfTheDeadNobodyMustKnow) {
  connect();
  connections.destroy(highs);
  network.bury(high);
  EXPECT_EQ(connections.disagreement(), "");
}

TEST(Holdings, OneMoreThanTheLimitFails) {
  Trace trace(false);
  Scheduler scheduler(1, trace);
  channel::PolicySettings limits;
  limits.connections_max = 2;
  Holdings holdings(scheduler, limits);
  scheduler.spawn([&] {
    holdings.take(holdings.connections);
    holdings.take(holdings.connections);
    Holdings::drop(holdings.connections);
    holdings.take(holdings.connections);
    holdings.take(holdings.connections);
  });
  EXPECT_EQ(scheduler.run(), "rank 0: it has 3 connections, but may have 2");
}

}  // namespace
}  // namespace hawser::sim
