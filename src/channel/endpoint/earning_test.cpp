// Channels that one process asks several peers for.
#include <gtest/gtest.h>

#include "channel/endpoint/endpoint_table.hpp"
#include "channel/endpoint/fake_end.hpp"

namespace hawser::channel {
namespace {

constexpr ChannelKind fast = ChannelKind::rc_fast_path;

/// Process 0, and peers from 1 on. The first one has a fast path; the second one would have earned
/// it, but this side can have no more.
class Crowd : public ::testing::Test {
 protected:
  Crowd() {
    FakeLink& link = link_to(1);
    change(link, {fast}, {});
    talk_to(1, 16);
    EXPECT_EQ(link.asked_times, 1);
    link.set_channels({ChannelKind::ud_send, fast});
    a.table.on_channels_changed(link);
    EXPECT_EQ(link_to(2).asked_times, 0);
    change(link_to(2), {}, {fast});
  }
  void change(FakeLink& link, transport::ChannelSet earnable, transport::ChannelSet crowded_out) {
    link.set_earnable(earnable, crowded_out);
    a.table.on_channels_changed(link);
  }
  Endpoint& peer(std::uint32_t index) { return a.table.find_or_make({1, index, 0}); }
  FakeLink& link_to(std::uint32_t index) {
    peer(index);
    return a.transports[0]->link(index);
  }
  void talk_to(std::uint32_t index, int messages) {
    for (int i = 0; i < messages; ++i) {
      peer(index).count_sent(ChannelKind::ud_send, 8);
      if (peer(index).is_due_for_policy()) a.table.apply_policy(peer(index));
    }
  }

  std::uint64_t now = 1'000'000;
  FakeNetwork network;
  FakeBootstrap::Directory directory;
  End a{network, directory, 0, 1, now};
  End b{network, directory, 1, 1, now};
  End c{network, directory, 2, 1, now};
};

TEST_F(Crowd, WhoIsCrowdedOutAsksNobody) {
  talk_to(2, 1000);
  EXPECT_EQ(link_to(2).asked_times, 0);
}

TEST_F(Crowd, WhoLiesIdleMakesRoom) {
  talk_to(2, 15);
  EXPECT_EQ(link_to(1).given_back_times, 0) << "nobody has earned anything yet";
  talk_to(2, 1000);
  EXPECT_EQ(link_to(1).given_back_times, 1);
}

TEST_F(Crowd, WhoIsNotIdleKeepsWhatItHas) {
  for (int i = 0; i < 1000; ++i) {
    talk_to(1, 1);
    talk_to(2, 1);
  }
  EXPECT_EQ(link_to(1).given_back_times, 0);
}

TEST_F(Crowd, OnceThereIsRoomItIsAskedFor) {
  talk_to(2, 100);
  change(link_to(2), {fast}, {});
  talk_to(2, 16);
  EXPECT_EQ(link_to(2).asked_times, 1);
}

}  // namespace
}  // namespace hawser::channel
