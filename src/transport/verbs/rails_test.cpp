// Several ports of softrdma's devices in one process, each a rail.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "transport/verbs/test_end.hpp"

extern "C" int softrdma_set_port(ibv_device* device, std::uint32_t port, int is_up);

namespace hawser::transport::verbs {
namespace {

/// A process with all the rails that SETTINGS allow.
struct RailsEnd {
  explicit RailsEnd(std::uint32_t index, const Settings& settings = {}) : self{1, index, 0} {
    auto opened = VerbsTransport::open_all({self, JobKey{}, &ledger, &sink, platform::monotonic_ns},
                                           settings);
    if (!opened) throw std::runtime_error(opened.error().sentence());
    rails = std::move(*opened);
  }
  Link& connect(RailsEnd& to, std::size_t rail) {
    return **rails.at(rail)->connect(to.self, *to.rails.at(rail)->address());
  }
  bool progress() {
    bool moved = false;
    for (const auto& rail : rails) moved |= rail->progress();
    return moved;
  }
  [[nodiscard]] std::int64_t buffer_bytes() const {
    return ledger.current_bytes(memory::Account::network_buffers);
  }

  const Identity self;
  memory::Ledger ledger;
  RecordingSink sink;
  std::vector<std::unique_ptr<VerbsTransport>> rails;
};

void settle(RailsEnd& a, RailsEnd& b) {
  for (int quiet = 0; quiet < 4000;) {
    bool moved = a.progress();
    moved |= b.progress();
    quiet = moved ? 0 : quiet + 1;
  }
}

Settings with_rails(std::int64_t rails_max) {
  Settings settings;
  settings.rails_max = rails_max;
  return settings;
}

void set_port(std::string_view device, std::uint32_t port, bool is_up) {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  for (ibv_device** each = devices; *each != nullptr; ++each)
    if (ibv_get_device_name(*each) == device) {
      EXPECT_EQ(softrdma_set_port(*each, port, is_up ? 1 : 0), 0);
    }
  ibv_free_device_list(devices);
}

TEST(VerbsRails, EveryActivePortIsOne) {
  const RailsEnd end(0);
  ASSERT_EQ(end.rails.size(), 4U) << "two devices with two ports";
  std::vector<std::string> ports;
  for (std::size_t i = 0; i < end.rails.size(); ++i) {
    const VerbsTransport& rail = *end.rails[i];
    EXPECT_EQ(rail.name(), i == 0 ? "verbs" : "verbs." + std::to_string(i));
    EXPECT_EQ(rail.rail().network, "verbs");
    EXPECT_EQ(rail.rail().number, i);
    ports.push_back(rail.traffic().at(0).by);
  }
  EXPECT_EQ(ports, (std::vector<std::string>{"port 1 of softrdma0", "port 2 of softrdma0",
                                             "port 1 of softrdma1", "port 2 of softrdma1"}));
}

TEST(VerbsRails, SettingsSayWhichAndHowMany) {
  EXPECT_EQ(RailsEnd(0, with_rails(3)).rails.size(), 3U);
  Settings named;
  named.device = "softrdma1,mlx9_9";
  const RailsEnd end(0, named);
  ASSERT_EQ(end.rails.size(), 2U);
  EXPECT_EQ(end.rails[0]->traffic().at(0).by, "port 1 of softrdma1");
}

TEST(VerbsRails, OneThatNobodyUsesCostsLittle) {
  RailsEnd one(0, with_rails(1));
  RailsEnd a(1);
  RailsEnd b(2);
  const std::int64_t whole = one.buffer_bytes();
  EXPECT_LT(a.buffer_bytes() - whole, 3 * whole / 4);
  Link& link = a.connect(b, 1);
  link.release(ChannelKind::ud_send, send_datagram(link, 64, 1));
  settle(a, b);
  EXPECT_EQ(b.sink.arrivals.size(), 1U);
  EXPECT_GT(b.buffer_bytes(), 2 * whole - whole / 4) << "once a peer is met there, it has its own";
  EXPECT_GE(a.rails[1]->traffic().at(0).bytes_sent, 64U);
  EXPECT_EQ(a.rails[0]->traffic().at(0).bytes_sent, 0U);
}

TEST(VerbsRails, ThePortTellsWhenItGoesDownAndComesBack) {
  RailsEnd a(0, with_rails(2));
  RailsEnd b(1, with_rails(2));
  Link& by_first = a.connect(b, 0);
  Link& by_second = a.connect(b, 1);
  EXPECT_GT(by_second.bits_per_second(), 1'000'000'000U);
  set_port("softrdma0", 2, false);
  settle(a, b);
  EXPECT_TRUE(by_first.is_up());
  EXPECT_FALSE(by_second.is_up());
  EXPECT_EQ(a.sink.states, std::vector<bool>{false}) << "told of the link of that port alone";
  set_port("softrdma0", 2, true);
  settle(a, b);
  EXPECT_TRUE(by_second.is_up());
  EXPECT_EQ(a.sink.states, (std::vector<bool>{false, true}));
}

TEST(VerbsRails, AFrameThatAnotherLinkKeepsIsSentAsACopy) {
  RailsEnd a(0, with_rails(2));
  RailsEnd b(1, with_rails(2));
  Link& by_first = a.connect(b, 0);
  Link& by_second = a.connect(b, 1);
  for (Link* link : {&by_first, &by_second})
    link->release(ChannelKind::ud_send, send_datagram(*link, 8, 0));
  settle(a, b);
  ASSERT_TRUE(by_first.ask(ChannelKind::rc_send));
  settle(a, b);
  ASSERT_TRUE(by_first.channels().has(ChannelKind::rc_send));
  const std::size_t longest = by_first.frame_bytes_max(ChannelKind::rc_send);
  std::byte* const frame = send(by_first, ChannelKind::rc_send, longest, 7);
  settle(a, b);
  b.sink.arrivals.clear();
  EXPECT_EQ(by_second.send_copy({frame, longest}), Link::Resent::sent);
  EXPECT_EQ(by_second.send_copy({frame, 64}), Link::Resent::sent);
  settle(a, b);
  by_first.release(ChannelKind::rc_send, frame);
  ASSERT_EQ(b.sink.arrivals.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(b.sink.arrivals, [&](const auto& arrival) {
    return arrival.bytes == longest;
  })) << "in parts";
  EXPECT_EQ(b.sink.damaged, 0);
}

TEST(VerbsRails, AnAbandonedLinkHasItsConnectionBroken) {
  RailsEnd a(0, with_rails(2));
  RailsEnd b(1, with_rails(2));
  Link& link = a.connect(b, 0);
  link.release(ChannelKind::ud_send, send_datagram(link, 8, 0));
  settle(a, b);
  ASSERT_TRUE(link.ask(ChannelKind::rc_send));
  settle(a, b);
  link.break_connection();
  settle(a, b);
  EXPECT_FALSE(link.channels().has(ChannelKind::rc_send));
  EXPECT_FALSE(a.sink.undelivered.empty());
  EXPECT_FALSE(b.sink.undelivered.empty()) << "the peer hears of it";
}

}  // namespace
}  // namespace hawser::transport::verbs
