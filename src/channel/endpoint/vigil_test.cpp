// A peer on another host that something waits for: it answers, computes, or has vanished.
#include <gtest/gtest.h>

#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

/// A handler whose process waits for a peer, or not.
class WaitingHandler final : public RecordingHandler {
 public:
  bool for_each_awaited(const std::function<void(Endpoint&)>& visit) override {
    if (awaited != nullptr) visit(*awaited);
    return anybody;
  }
  Endpoint* awaited = nullptr;
  bool anybody = false;
};

class Vigil : public ::testing::Test {
 protected:
  explicit Vigil(const AssuranceSettings& how = {})
      : a(network, directory, 0, 1, now, how), b(network, directory, 1, 1, now, how) {
    a.table.set_handler(handler);
    a.transports[0]->notices_end = false;
    for (FakeTransport* each : {&a_beside, &b_beside}) each->announces = true;
    a.add(a_beside);
    b.add(b_beside);
    send_from_a();
    pass(1, true);
  }
  Endpoint& a_to_b() { return a.table.find_or_make(b.bootstrap.placement().self); }
  void send_from_a() {
    const std::uint32_t number = 7;
    ASSERT_TRUE(a_to_b().try_send(
        ChannelKind::ud_send, 1, Sequencing::ordered, sizeof(FramePrefix) + sizeof(number),
        [&](std::byte* body) { std::memcpy(body, &number, sizeof(number)); }));
  }
  /// Seconds in which A looks at the clock often, and B as well if it makes progress.
  void pass(int seconds, bool b_runs) {
    for (int i = 0; i < seconds * 10; ++i) {
      now += second_ns / 10;
      for (std::uint32_t j = 0; j < Pacer::rounds_per_look; ++j) {
        a.table.progress();
        if (b_runs) b.table.progress();
      }
    }
  }

  std::uint64_t now = second_ns;
  FakeNetwork network, beside;
  FakeBootstrap::Directory directory;
  WaitingHandler handler;
  End a, b;
  FakeTransport a_beside{beside, 0, 0, a.table, "beside"};
  FakeTransport b_beside{beside, 1, 0, b.table, "beside"};
};

TEST_F(Vigil, WhoIsNotAwaitedIsLeftInPeace) {
  const std::size_t frames = network.rails[0].frames;
  pass(60, true);
  EXPECT_EQ(network.rails[0].frames, frames);
  EXPECT_EQ(a_beside.connected, 0);
}

TEST_F(Vigil, WhoAnswersNeedsNoOtherNetwork) {
  handler.awaited = &a_to_b();
  const std::size_t frames = network.rails[0].frames;
  pass(60, true);
  EXPECT_GE(network.rails[0].frames, frames + 58) << "it is asked every two seconds";
  EXPECT_EQ(a_beside.connected, 0);
  EXPECT_FALSE(a_to_b().is_lost());
}

TEST_F(Vigil, WhoComputesIsKeptInTouchWithByTheOtherNetwork) {
  handler.awaited = &a_to_b();
  pass(60, false);
  EXPECT_EQ(a_beside.connected, 1);
  EXPECT_GE(a_beside.link(1).kept_in_touch, 20);
  EXPECT_FALSE(a_to_b().is_lost());
  pass(5, true);
  const int touched = a_beside.link(1).kept_in_touch;
  pass(20, true);
  EXPECT_EQ(a_beside.link(1).kept_in_touch, touched) << "it has been heard since";
}

TEST_F(Vigil, WhoVanishesIsLostOnceTheOtherNetworkSaysSo) {
  handler.awaited = &a_to_b();
  pass(10, false);
  ASSERT_EQ(a_to_b().side_link(), &a_beside.link(1));
  a.table.on_lost(a_beside.link(1), "its host does not answer");
  EXPECT_TRUE(a_to_b().is_lost());
  EXPECT_EQ(handler.lost, 1);
  EXPECT_EQ(a_beside.link(1).abandoned, 1);
}

TEST_F(Vigil, WhoseFrameIsUnansweredIsAwaited) {
  send_from_a();
  pass(10, false);
  ASSERT_EQ(a_to_b().side_link(), &a_beside.link(1));
}

TEST_F(Vigil, WhoAnswersIsNotLostForTheOtherNetwork) {
  handler.awaited = &a_to_b();
  pass(10, false);
  pass(10, true);
  a.table.on_lost(a_beside.link(1), "its host does not answer");
  EXPECT_FALSE(a_to_b().is_lost());
  EXPECT_EQ(a_to_b().side_link(), nullptr);
  pass(10, false);
  EXPECT_EQ(a_beside.connected, 2) << "it is sought anew";
}

TEST_F(Vigil, ALinkThatNoticesByItselfIsKeptInTouch) {
  a.transports[0]->notices_end = true;
  handler.awaited = &a_to_b();
  const std::size_t frames = network.rails[0].frames;
  pass(10, true);
  EXPECT_GE(a.transports[0]->link(1).kept_in_touch, 4);
  EXPECT_EQ(network.rails[0].frames, frames);
  EXPECT_EQ(a_beside.connected, 0);
}

TEST_F(Vigil, WhoWaitsForAnybodyLooksAfterAPeerWhoIsSilent) {
  handler.anybody = true;
  pass(20, true);
  EXPECT_EQ(a_beside.connected, 0);
  pass(10, false);
  EXPECT_EQ(a_to_b().side_link(), &a_beside.link(1));
}

TEST_F(Vigil, WhoWaitsForAnybodyLooksAfterOnePeerAtATime) {
  End c(network, directory, 2, 1, now);
  Endpoint& a_to_c = a.table.find_or_make(c.bootstrap.placement().self);
  ASSERT_TRUE(a_to_c.is_open());
  a.transports[0]->notices_end = true;
  handler.anybody = true;
  pass(60, true);
  const int by_turn = a.transports[0]->link(1).kept_in_touch;
  EXPECT_GE(by_turn, 14);
  EXPECT_LE(by_turn, 16);
  EXPECT_NEAR(a.transports[0]->link(2).kept_in_touch, by_turn, 1);
}

AssuranceSettings silent_for(std::uint64_t seconds) {
  AssuranceSettings settings;
  settings.silence_s = seconds;
  return settings;
}

struct VigilWithLimit : Vigil {
  VigilWithLimit() : Vigil(silent_for(10)) {
    std::erase_if(directory, [](const auto& entry) { return entry.first.second == "beside"; });
    handler.awaited = &a_to_b();
  }
};

TEST_F(VigilWithLimit, SilenceThatIsTooLongMeansThatThePeerIsGone) {
  pass(9, false);
  EXPECT_FALSE(a_to_b().is_lost());
  pass(4, false);
  ASSERT_TRUE(a_to_b().is_lost());
  EXPECT_NE(a_to_b().loss().find("has not answered for 10 s"), std::string::npos);
}

TEST_F(VigilWithLimit, WhoAnswersStays) {
  pass(60, true);
  EXPECT_FALSE(a_to_b().is_lost());
}

}  // namespace
}  // namespace hawser::channel
