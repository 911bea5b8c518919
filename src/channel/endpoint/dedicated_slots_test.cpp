#include "channel/endpoint/dedicated_slots.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/endpoint.hpp"

namespace hawser::channel {
namespace {

constexpr ChannelKind ring = ChannelKind::ring;
constexpr ChannelKind connection = ChannelKind::rc_send;
constexpr std::size_t ring_bytes = 1000;
constexpr std::size_t connection_bytes = 3000;

PolicySettings settings_with(std::int64_t memory_max, const char* connect = "on_demand") {
  PolicySettings settings;
  settings.memory_max = memory_max;
  settings.connect = connect;
  return settings;
}

class DedicatedSlotsTest : public ::testing::Test {
 protected:
  void grant_ring(Endpoint& endpoint) {
    ASSERT_TRUE(slots.reserve(slots.granted(ring)));
    slots.granted(ring).hold(endpoint);
    ledger.charge(memory::Account::rings, ring_bytes);
  }
  void connect(Endpoint& endpoint) {
    ASSERT_TRUE(slots.reserve(slots.asked(connection)));
    slots.asked(connection).hold(endpoint);
    ledger.charge(memory::Account::connection_buffers, connection_bytes);
  }
  DedicatedSlots::Holder excess() {
    return slots.excess(
        [&](const Endpoint& endpoint, ChannelKind) { return activity[endpoint.identity().index]; });
  }

  memory::Ledger ledger;
  std::array<std::uint64_t, 3> activity{};
  Endpoint a{{1, 0, 0}, true, ledger};
  Endpoint b{{1, 1, 0}, true, ledger};
  Endpoint c{{1, 2, 0}, true, ledger};
  DedicatedSlots slots{settings_with(4000), ledger};
};

TEST_F(DedicatedSlotsTest, NoneIsHadOnceTheMemoryIsTaken) {
  grant_ring(a);
  connect(b);
  EXPECT_FALSE(slots.reserve(slots.granted(ring)));
  EXPECT_FALSE(slots.reserve(slots.asked(connection)));
  EXPECT_FALSE(slots.reserve(slots.asked(ring)));
  ledger.refund(memory::Account::rings, ring_bytes);
  EXPECT_TRUE(slots.reserve(slots.granted(ring)));
}

TEST_F(DedicatedSlotsTest, NobodyHasToGoWithinTheLimit) {
  grant_ring(a);
  connect(b);
  EXPECT_EQ(excess().endpoint, nullptr);
}

TEST_F(DedicatedSlotsTest, BeyondItTheLeastRecentlyUsedGoesOfWhateverKind) {
  grant_ring(a);
  connect(b);
  ledger.charge(memory::Account::connection_buffers, 1);
  activity = {5, 4, 0};
  EXPECT_EQ(excess().endpoint, &b) << "used least, while nobody is idle";
  activity[1] = 9;
  const DedicatedSlots::Holder idle = excess();
  EXPECT_EQ(idle.endpoint, &a);
  EXPECT_EQ(idle.kind, ring);
}

TEST_F(DedicatedSlotsTest, OneGoesAtATime) {
  grant_ring(a);
  grant_ring(b);
  connect(c);
  ASSERT_EQ(excess().endpoint, &a);
  slots.note_going(a);
  EXPECT_EQ(excess().endpoint, nullptr) << "its memory may suffice";
  slots.note_gone(b);
  EXPECT_EQ(excess().endpoint, nullptr);
  slots.granted(ring).let_go(a);
  slots.note_gone(a);
  EXPECT_EQ(excess().endpoint, &b);
}

TEST_F(DedicatedSlotsTest, ZeroIsNoLimitAndNeitherIsThereOneWhereAllConnectAtStart) {
  ledger.charge(memory::Account::connection_buffers, std::size_t{1} << 40);
  for (const PolicySettings& settings : {settings_with(0), settings_with(1, "static")}) {
    DedicatedSlots free(settings, ledger);
    EXPECT_FALSE(free.has_memory_limit());
    EXPECT_TRUE(free.reserve(free.asked(connection)));
    EXPECT_EQ(free.excess([](const Endpoint&, ChannelKind) { return 0U; }).endpoint, nullptr);
  }
  EXPECT_TRUE(slots.has_memory_limit());
}

}  // namespace
}  // namespace hawser::channel
