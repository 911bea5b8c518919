#include "channel/endpoint/rails.hpp"

#include <gtest/gtest.h>

#include "channel/endpoint/fake_rails.hpp"

namespace hawser::channel {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

class RailsTest : public ::testing::Test {
 protected:
  RailsTest() {
    for (std::uint8_t number = 0; number < 3; ++number) rails.add(number, ends[number].link(1));
  }
  /// The peer, silent by the rail in use, answers a question that was put to it by another one.
  void answer_by_another(std::uint64_t now_ns) {
    const auto asked = rails.next_to_ask(++attempts);
    ASSERT_TRUE(asked.has_value());
    rails.on_heard(*asked, now_ns);
  }

  FakeNetwork network;
  struct Silent final : transport::Sink {
    void on_frame(transport::Link&, transport::ChannelKind, std::span<const std::byte>) override {}
    void on_frame_apart(transport::Link&, transport::ChannelKind,
                        const transport::FrameView&) override {}
    void on_link(transport::Link&, const base::Identity&) override {}
    bool on_channel_asked(transport::Link&, transport::ChannelKind) override { return false; }
    void on_channels_changed(transport::Link&) override {}
    void on_link_state(transport::Link&) override {}
    void on_channel_refused(transport::Link&, transport::ChannelKind) override {}
    void on_channel_given_back(transport::Link&, transport::ChannelKind) override {}
    void on_channel_recalled(transport::Link&, transport::ChannelKind) override {}
    void on_undelivered(transport::Link&, transport::ChannelSet) override {}
    void on_operation_done(transport::Link&, std::uint64_t, bool) override {}
    void on_clearance(transport::Link&, std::uint64_t, const transport::Clearance&) override {}
    void on_lost(transport::Link&, std::string_view) override {}
  } sink;
  std::array<FakeTransport, 3> ends{FakeTransport{network, 0, 0, sink},
                                    FakeTransport{network, 0, 1, sink},
                                    FakeTransport{network, 0, 2, sink}};
  Rails rails;
  std::uint32_t attempts = 1;
};

TEST_F(RailsTest, TheFirstThatIsUpIsUsed) {
  EXPECT_EQ(rails.used(), 0);
  EXPECT_FALSE(rails.choose(0));
  rails.set_up(0, false);
  EXPECT_TRUE(rails.choose(0));
  EXPECT_EQ(rails.used(), 1);
  rails.set_up(1, false);
  EXPECT_TRUE(rails.choose(0));
  EXPECT_EQ(rails.used(), 2);
  rails.set_up(2, false);
  EXPECT_FALSE(rails.choose(0)) << "none is better";
  EXPECT_EQ(rails.used(), 2);
  rails.set_up(0, true);
  EXPECT_TRUE(rails.choose(0));
  EXPECT_EQ(rails.used(), 0);
}

TEST_F(RailsTest, APeerThatAnswersByAnotherRailAloneMakesThisOneSuspectForAWhile) {
  answer_by_another(5);
  EXPECT_FALSE(rails.choose(5)) << "it may answer here in a moment";
  answer_by_another(6);
  EXPECT_TRUE(rails.choose(6));
  EXPECT_EQ(rails.used(), 1);
  EXPECT_FALSE(rails.is_usable(0));
  EXPECT_EQ(rails.deadline_ns(), 6 + Rails::suspect_ns);
  EXPECT_FALSE(rails.choose(second));
  EXPECT_TRUE(rails.choose(6 + Rails::suspect_ns));
  EXPECT_EQ(rails.used(), 0) << "it has another chance";
  EXPECT_EQ(rails.deadline_ns(), base::never_ns);
}

TEST_F(RailsTest, APeerThatAnswersByBothWasBusy) {
  for (int i = 0; i < 5; ++i) {
    answer_by_another(5);
    rails.on_heard(0, 6);
  }
  EXPECT_FALSE(rails.choose(7));
  rails.on_heard(1, 8);
  rails.on_heard(1, 9);
  EXPECT_FALSE(rails.choose(9)) << "nobody asked";
}

TEST_F(RailsTest, EachAttemptAsksOnceAndTheRailsTakeTurns) {
  EXPECT_EQ(rails.next_to_ask(2), 1);
  EXPECT_EQ(rails.next_to_ask(2), std::nullopt);
  EXPECT_EQ(rails.next_to_ask(3), 2);
  EXPECT_EQ(rails.next_to_ask(4), 1);
  rails.set_up(2, false);
  EXPECT_EQ(rails.next_to_ask(5), 1) << "not by one that is down";
  rails.set_up(1, false);
  EXPECT_EQ(rails.next_to_ask(6), std::nullopt);
}

TEST_F(RailsTest, OfThoseThatAreUpASuspectOneIsBetterThanNone) {
  answer_by_another(0);
  answer_by_another(1);
  EXPECT_TRUE(rails.choose(1));
  rails.set_up(1, false);
  rails.set_up(2, false);
  EXPECT_TRUE(rails.choose(2));
  EXPECT_EQ(rails.used(), 0);
  EXPECT_FALSE(rails.choose(3)) << "and stays so";
}

TEST_F(RailsTest, APortThatComesBackIsSuspectNoMore) {
  answer_by_another(0);
  answer_by_another(1);
  EXPECT_TRUE(rails.choose(1));
  rails.set_up(0, false);
  rails.set_up(0, true);
  EXPECT_TRUE(rails.choose(2));
  EXPECT_EQ(rails.used(), 0);
}

}  // namespace
}  // namespace hawser::channel
