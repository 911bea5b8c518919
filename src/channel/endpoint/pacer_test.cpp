#include "channel/endpoint/pacer.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

/// How often it is due in as many idle rounds as make it look at the clock.
int idle(Pacer& pacer, std::uint64_t now_ns) {
  int due = 0;
  for (std::uint32_t i = 0; i < Pacer::rounds_per_look; ++i)
    if (pacer.is_round_for_it() && pacer.take(now_ns)) ++due;
  return due;
}

TEST(Pacer, WithoutAnIntervalItIsNeverDue) {
  Pacer pacer(0);
  EXPECT_EQ(idle(pacer, 1000), 0);
  EXPECT_EQ(pacer.deadline_ns(), base::never_ns);
}

TEST(Pacer, IsDueOnceInAnInterval) {
  Pacer pacer(100);
  EXPECT_EQ(idle(pacer, 1000), 1);
  EXPECT_EQ(pacer.deadline_ns(), 1100U);
  EXPECT_EQ(idle(pacer, 1099), 0);
  EXPECT_EQ(idle(pacer, 1100), 1);
}

TEST(Pacer, WhoWasAsleepLooksAtOnce) {
  Pacer pacer(100);
  EXPECT_EQ(idle(pacer, 1000), 1);
  pacer.arm();
  ASSERT_TRUE(pacer.is_round_for_it());
  EXPECT_TRUE(pacer.take(1100));
}

TEST(Census, AnOperationWithTheDeadFailsThoughNobodyTells) {
  FakeBootstrap::Directory directory;
  FakeBootstrap bootstrap(directory, 0);
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
    for (std::uint32_t i = 0; i < Pacer::rounds_per_look; ++i) table.progress();
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
