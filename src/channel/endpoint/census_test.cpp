#include "channel/endpoint/census.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

struct CensusTest : public ::testing::Test {
  /// As many idle rounds as make it look at the clock.
  static void idle(Census& census, std::uint64_t now_ns) {
    for (std::uint32_t i = 0; i < Census::rounds_per_look; ++i)
      if (census.is_round_for_it()) census.take(now_ns);
  }

  FakeBootstrap::Directory directory;
  FakeBootstrap bootstrap{directory, 0};
};

TEST_F(CensusTest, NobodyLooksWhereDeathsAreTold) {
  Census census(bootstrap);
  idle(census, 1000);
  EXPECT_EQ(bootstrap.looks, 0);
  EXPECT_EQ(census.deadline_ns(), base::never_ns);
}

TEST_F(CensusTest, LooksOnceInAnInterval) {
  bootstrap.look_interval = 100;
  Census census(bootstrap);
  idle(census, 1000);
  EXPECT_EQ(bootstrap.looks, 1);
  EXPECT_EQ(census.deadline_ns(), 1100U);
  idle(census, 1099);
  EXPECT_EQ(bootstrap.looks, 1);
  idle(census, 1100);
  EXPECT_EQ(bootstrap.looks, 2);
}

TEST_F(CensusTest, WhoWasAsleepLooksAtOnce) {
  bootstrap.look_interval = 100;
  Census census(bootstrap);
  idle(census, 1000);
  census.arm();
  ASSERT_TRUE(census.is_round_for_it());
  census.take(1100);
  EXPECT_EQ(bootstrap.looks, 2);
}

TEST_F(CensusTest, AnOperationWithTheDeadFailsThoughNobodyTells) {
  FakeNetwork network;
  std::uint64_t now_ns = 1;
  bootstrap.look_interval = 100;
  memory::Ledger ledger;
  bootstrap::AddressBook addresses(bootstrap);
  RecordingHandler handler;
  Policy policy = policy_of({});
  EndpointTable table({bootstrap.placement().self,
                       &addresses,
                       &bootstrap,
                       &ledger,
                       &policy,
                       {},
                       0,
                       {},
                       *DeliveryChannels::parse({}),
                       [&now_ns] { return now_ns; }});
  FakeNetwork nobody;
  FakeTransport alone(nobody, 0, 0, table);
  table.set_handler(handler);
  table.set_self_transport(alone);
  table.find_or_make({1, 1, 0});
  const auto rounds = [&] {
    for (std::uint32_t i = 0; i < Census::rounds_per_look; ++i) table.progress();
  };
  rounds();
  EXPECT_EQ(handler.lost, 0);
  bootstrap.has_died = true;
  EXPECT_EQ(table.deadline_ns(), 101U);
  now_ns = 101;
  rounds();
  EXPECT_EQ(handler.lost, 1);
}

}  // namespace
}  // namespace hawser::channel
