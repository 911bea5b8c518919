// XRC between ends in one process, over softrdma: ends of one host have a file in common.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

constexpr ChannelKind shared = ChannelKind::xrc_send;

/// One end that sends, and others of another host that it knows.
struct Hosts {
  explicit Hosts(std::uint32_t receivers, const Settings& settings = {})
      : a(0, settings, std::byte{1}, here.file.get()) {
    for (std::uint32_t i = 0; i < receivers; ++i) add(there, settings);
  }
  void add(const HostFile& host, const Settings& settings = {}) {
    const auto index = static_cast<std::uint32_t>(ends.size()) + 1;
    ends.push_back(std::make_unique<End>(index, settings, std::byte{1}, host.file.get()));
    links.push_back(&a.connect(*ends.back()));
  }
  void settle_all() {
    for (int quiet = 0; quiet < 1000;) {
      bool moved = a.transport->progress();
      for (const auto& end : ends) moved |= end->transport->progress();
      quiet = moved ? 0 : quiet + 1;
    }
  }
  void earn(std::size_t which) {
    EXPECT_TRUE(links[which]->ask(shared));
    settle_all();
    ASSERT_TRUE(links[which]->channels().has(shared));
  }
  /// The first peer has the channel; the second one is asked, and says nothing yet.
  void ask_one_that_does_not_look() {
    earn(1);  // so that its host is known
    EXPECT_TRUE(links[1]->give_back(shared));
    settle_all();
    earn(0);
    EXPECT_TRUE(links[1]->ask(shared));
    settle(a, *ends[0]);
  }
  void send_to(std::size_t which, std::size_t bytes, std::uint64_t number) {
    std::byte* const frame = send(*links[which], shared, bytes, number);
    ASSERT_NE(frame, nullptr);
    links[which]->release(shared, frame);
  }
  HostFile here;
  HostFile there;
  End a;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<Link*> links;
};

TEST(VerbsXrc, FramesArriveWholeAndInOrder) {
  Hosts hosts(1);
  EXPECT_TRUE(hosts.links[0]->earnable().has(shared));
  EXPECT_EQ(hosts.links[0]->frame_bytes_max(shared), 0U);
  hosts.earn(0);
  EXPECT_EQ(hosts.ends[0]->sink.asked, 1);
  const std::size_t largest = hosts.links[0]->frame_bytes_max(shared);
  EXPECT_EQ(largest, 8256U);
  std::uint64_t number = 0;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{128}, std::size_t{5000}, largest})
    hosts.send_to(0, bytes, number++);
  hosts.settle_all();
  const auto& arrivals = hosts.ends[0]->sink.arrivals;
  ASSERT_EQ(arrivals.size(), number);
  for (std::uint64_t i = 0; i < number; ++i) {
    EXPECT_EQ(arrivals[i].number, i);
    EXPECT_EQ(arrivals[i].kind, shared);
    EXPECT_EQ(arrivals[i].link, hosts.ends[0]->sink.links.at(0));
  }
  EXPECT_EQ(hosts.ends[0]->sink.damaged, 0);
}

TEST(VerbsXrc, ItServesOneDirection) {
  Hosts hosts(1);
  hosts.earn(0);
  Link& back = *hosts.ends[0]->sink.links.at(0);
  EXPECT_FALSE(back.channels().has(shared));
  EXPECT_TRUE(back.ask(shared));
  hosts.settle_all();
  EXPECT_TRUE(back.channels().has(shared));
  back.release(shared, send(back, shared, 3000, 7));
  hosts.settle_all();
  ASSERT_EQ(hosts.a.sink.arrivals.size(), 1U);
  EXPECT_EQ(hosts.a.sink.arrivals[0].link, hosts.links[0]);
}

TEST(VerbsXrc, PeersOfOneHostShareAQueuePair) {
  Hosts hosts(3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(hosts.links[i]->ask(shared));  // all at once
  hosts.settle_all();
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 1U);
  for (std::uint64_t i = 0; i < 30; ++i) hosts.send_to(i % 3, 100 + i * 100, i);
  hosts.settle_all();
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(hosts.ends[i]->sink.arrivals.size(), 10U);
    for (const auto& arrival : hosts.ends[i]->sink.arrivals) EXPECT_EQ(arrival.number % 3, i);
  }
  HostFile further;
  hosts.add(further);
  hosts.earn(3);
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 2U) << "of another host";
  hosts.send_to(3, 500, 0);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[3]->sink.arrivals.size(), 1U);
}

TEST(VerbsXrc, SendersThatShareAReceiverAreToldApart) {
  Hosts hosts(1);
  End other(9, {}, std::byte{1}, hosts.here.file.get());
  Link& link = other.connect(*hosts.ends[0]);
  EXPECT_TRUE(link.ask(shared));
  EXPECT_TRUE(hosts.links[0]->ask(shared));
  const auto settle_both = [&] {
    for (int i = 0; i < 5; ++i) {
      hosts.settle_all();
      settle(other, *hosts.ends[0]);
    }
  };
  settle_both();
  ASSERT_TRUE(link.channels().has(shared));
  ASSERT_TRUE(hosts.links[0]->channels().has(shared));
  link.release(shared, send(link, shared, 100, 1));
  hosts.send_to(0, 100, 2);
  settle_both();
  const RecordingSink& sink = hosts.ends[0]->sink;
  ASSERT_EQ(sink.arrivals.size(), 2U);
  for (const auto& arrival : sink.arrivals) {
    const auto which = std::ranges::find(sink.links, arrival.link) - sink.links.begin();
    EXPECT_EQ(sink.peers.at(static_cast<std::size_t>(which)).index, arrival.number == 1 ? 9U : 0U);
  }
}

TEST(VerbsXrc, TheTargetOutlivesWhoMadeIt) {
  Hosts hosts(2);
  hosts.earn(0);
  hosts.earn(1);
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 1);
  hosts.send_to(1, 4000, 5);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[1]->sink.arrivals.size(), 1U);
  hosts.earn(0);
  hosts.send_to(0, 4000, 6);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[0]->sink.arrivals.size(), 1U);
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 1U);
}

TEST(VerbsXrc, TheLastHolderOfATargetStaysWhileAnotherOneIsToldOfIt) {
  Hosts hosts(2);
  hosts.ask_one_that_does_not_look();
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  settle(hosts.a, *hosts.ends[0]);
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 0);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 1);
  ASSERT_TRUE(hosts.links[1]->channels().has(shared));
  hosts.send_to(1, 4000, 5);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[1]->sink.arrivals.size(), 1U);
}

TEST(VerbsXrc, OneThatBreaksWhileItIsAskedForIsRefusedAndMayBeAskedForAnew) {
  Hosts hosts(2);
  hosts.ask_one_that_does_not_look();
  hosts.links[0]->break_connection();
  hosts.settle_all();
  EXPECT_EQ(hosts.a.sink.refused, 1);
  EXPECT_FALSE(hosts.links[1]->channels().has(shared));
  EXPECT_EQ(hosts.ends[1]->sink.asked, hosts.ends[1]->sink.given_back) << "no slot is left";
  hosts.earn(1);
  hosts.send_to(1, 4000, 5);
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[1]->sink.arrivals.size(), 1U);
}

TEST(VerbsXrc, WithAConnectionBesideItEachCarriesItsOwn) {
  Hosts hosts(1);
  hosts.earn(0);
  EXPECT_TRUE(hosts.links[0]->ask(rc));
  hosts.settle_all();
  ASSERT_TRUE(hosts.links[0]->channels().has(rc));
  hosts.send_to(0, 3000, 1);
  hosts.links[0]->release(rc, send(*hosts.links[0], rc, 3000, 2));
  EXPECT_TRUE(hosts.links[0]->give_back(rc));
  hosts.settle_all();
  EXPECT_TRUE(hosts.links[0]->channels().has(shared));
  ASSERT_EQ(hosts.ends[0]->sink.arrivals.size(), 2U);
  for (const auto& arrival : hosts.ends[0]->sink.arrivals)
    EXPECT_EQ(arrival.kind, arrival.number == 1 ? shared : rc);
}

TEST(VerbsXrc, ARefusalIsHeardAndTheNextOneHasItsTurn) {
  Hosts hosts(2);
  hosts.ends[0]->sink.grants = false;
  EXPECT_TRUE(hosts.links[0]->ask(shared));
  EXPECT_TRUE(hosts.links[1]->ask(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.a.sink.refused, 1);
  EXPECT_FALSE(hosts.links[0]->channels().has(shared));
  EXPECT_TRUE(hosts.links[1]->channels().has(shared));
  hosts.ends[0]->sink.grants = true;
  hosts.earn(0);
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 1U);
}

/// The sender may have channels to one host, and has; the last receiver is of another one.
struct OneHost : Hosts {
  explicit OneHost(std::uint32_t receivers) : Hosts(receivers, settings()) {
    add(further);
    earn(0);
  }
  static Settings settings() {
    Settings settings;
    settings.xrc_hosts_max = 1;
    return settings;
  }
  HostFile further;
};

TEST(VerbsXrc, HostsBeyondTheLimitStayWithDatagrams) {
  OneHost hosts(1);
  EXPECT_TRUE(hosts.links[1]->ask(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.a.sink.refused, 1);
  EXPECT_EQ(hosts.ends[1]->sink.asked, 0) << "the peer need not reserve anything";
  EXPECT_FALSE(hosts.links[1]->channels().has(shared));
  EXPECT_FALSE(hosts.links[1]->earnable().has(shared)) << "asking again would be for nothing";
  EXPECT_TRUE(hosts.links[1]->crowded_out().has(shared));
  const int changed = hosts.a.sink.channels_changed;
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.a.sink.channels_changed, changed + 1) << "that there is room is told";
  EXPECT_TRUE(hosts.links[1]->earnable().has(shared));
  EXPECT_FALSE(hosts.links[1]->crowded_out().has(shared));
  hosts.earn(1);
}

TEST(VerbsXrc, ALimitOfHostsIsNoneForFurtherPeersOfThem) {
  OneHost hosts(2);
  EXPECT_TRUE(hosts.links[2]->ask(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.a.sink.refused, 1);
  hosts.earn(1);
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  EXPECT_TRUE(hosts.links[2]->crowded_out().has(shared)) << "the host has another user";
  hosts.links[1]->break_connection();
  hosts.settle_all();
  EXPECT_TRUE(hosts.links[2]->earnable().has(shared)) << "one that breaks makes room, too";
  hosts.earn(2);
  EXPECT_TRUE(hosts.links[0]->ask(shared));
  hosts.settle_all();
  EXPECT_TRUE(hosts.links[0]->crowded_out().has(shared));
  EXPECT_EQ(hosts.a.transport->deadline_ns(), never_ns) << "it waits without asking";
}

TEST(VerbsXrc, WhoWaitsForRoomMayGo) {
  OneHost hosts(1);
  EXPECT_TRUE(hosts.links[1]->ask(shared));
  hosts.settle_all();
  hosts.links[1]->abandon();
  EXPECT_TRUE(hosts.links[1]->crowded_out().empty());
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  EXPECT_FALSE(hosts.links[1]->earnable().has(shared)) << "it is gone";
}

TEST(VerbsXrc, WhereNoFileIsSharedThereIsNone) {
  HostFile host;
  End a(0);
  End b(1, {}, std::byte{1}, host.file.get());
  Link& there = a.connect(b);
  EXPECT_FALSE(there.earnable().has(shared));
  there.release(ChannelKind::ud_send, send_datagram(there, 8, 0));
  settle(a, b);
  Link& back = *b.sink.links.at(0);
  EXPECT_TRUE(back.earnable().has(shared));
  EXPECT_TRUE(back.ask(shared));
  settle(a, b);
  EXPECT_EQ(b.sink.refused, 1);
  EXPECT_FALSE(back.earnable().has(shared)) << "asking again would be for nothing";
}

TEST(VerbsXrc, WhatABrokenOneCarriedGoesByDatagrams) {
  Hosts hosts(2);
  hosts.earn(0);
  hosts.earn(1);
  std::byte* const frame = send(*hosts.links[0], shared, 5000, 1);
  hosts.links[1]->break_connection();
  EXPECT_EQ(hosts.links[0]->resend(shared, frame, 5000, false), Link::Resent::under_way)
      << "that it is broken has not been told yet";
  hosts.settle_all();
  ASSERT_EQ(hosts.a.sink.undelivered.size(), 2U) << "all peers of the host lost it";
  EXPECT_EQ(hosts.a.sink.undelivered[0], ChannelSet{shared});
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 0U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(hosts.links[i]->channels().has(shared));
    EXPECT_EQ(hosts.ends[i]->sink.given_back, 1);
  }
  hosts.ends[0]->sink.arrivals.clear();
  EXPECT_FALSE(hosts.links[0]->is_under_way(frame));
  EXPECT_EQ(hosts.links[0]->resend(shared, frame, 5000, false), Link::Resent::sent);
  hosts.settle_all();
  ASSERT_EQ(hosts.ends[0]->sink.arrivals.size(), 1U);
  EXPECT_EQ(hosts.ends[0]->sink.arrivals[0].bytes, 5000U);
  hosts.links[0]->release(shared, frame);
  for (std::size_t i = 0; i < 2; ++i) {
    hosts.earn(i);
    hosts.send_to(i, 5000, i);
  }
  hosts.settle_all();
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 1U);
  EXPECT_EQ(hosts.ends[1]->sink.arrivals.back().number, 1U);
}

TEST(VerbsXrc, OneThatIsGivenBackLosesNothing) {
  Hosts hosts(1);
  hosts.earn(0);
  for (std::uint64_t i = 0; i < 20; ++i) hosts.send_to(0, 2000, i);
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  EXPECT_FALSE(hosts.links[0]->channels().has(shared)) << "at once";
  EXPECT_FALSE(hosts.links[0]->ask(shared)) << "not before it has ended";
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[0]->sink.arrivals.size(), 20U);
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 1);
  EXPECT_TRUE(hosts.a.sink.undelivered.empty());
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 0U) << "nobody uses it";
  EXPECT_EQ(hosts.a.transport->deadline_ns(), never_ns);
  hosts.earn(0);
}

TEST(VerbsXrc, OneThatWasGrantedIsCalledBack) {
  Hosts hosts(1);
  hosts.earn(0);
  Link& back = *hosts.ends[0]->sink.links.at(0);
  EXPECT_TRUE(back.incoming().has(shared));
  EXPECT_TRUE(back.recall(shared));
  hosts.settle_all();
  EXPECT_GE(hosts.a.sink.recalled, 1);
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 1);
  EXPECT_FALSE(back.incoming().has(shared));
  EXPECT_EQ(hosts.ends[0]->transport->deadline_ns(), never_ns);
}

TEST(VerbsXrc, APeerThatIsGoneIsNotWaitedFor) {
  Hosts hosts(2);
  hosts.earn(0);
  EXPECT_TRUE(hosts.links[1]->ask(shared));
  hosts.links[0]->abandon();
  hosts.links[1]->abandon();
  EXPECT_TRUE(hosts.links[0]->channels().empty());
  EXPECT_EQ(hosts.a.transport->deadline_ns(), never_ns);
  EXPECT_EQ(hosts.a.transport->xrc_hosts(), 0U);
  Link& back = *hosts.ends[0]->sink.links.at(0);
  back.abandon();
  EXPECT_EQ(hosts.ends[0]->sink.given_back, 1);
}

TEST(VerbsXrc, WindowsShareTheReceiversBuffersOut) {
  Hosts hosts(1);
  Link& there = *hosts.links[0];
  const std::uint32_t without = there.send_window();
  hosts.earn(0);
  EXPECT_LT(there.send_window(), without);
  Link& back = *hosts.ends[0]->sink.links.at(0);
  EXPECT_EQ(back.receive_window(), there.send_window());
  const std::uint32_t alone = back.receive_window();
  End other(9, {}, std::byte{1}, hosts.here.file.get());
  Link& link = other.connect(*hosts.ends[0]);
  EXPECT_TRUE(link.ask(shared));
  settle(other, *hosts.ends[0]);
  EXPECT_LT(back.receive_window(), alone);
  EXPECT_GE(back.receive_window(), 4U);
}

TEST(VerbsXrc, TheMemoryGoesAWhileAfterTheLastGrant) {
  Hosts hosts(1);
  End& receiver = *hosts.ends[0];
  const std::int64_t before = receiver.ledger.current_bytes(memory::Account::connection_buffers);
  hosts.earn(0);
  EXPECT_GT(receiver.ledger.current_bytes(memory::Account::connection_buffers), before);
  EXPECT_TRUE(hosts.links[0]->give_back(shared));
  hosts.settle_all();
  for (int i = 0; i < 5000; ++i) receiver.transport->progress();
  EXPECT_EQ(receiver.ledger.current_bytes(memory::Account::connection_buffers), before);
  hosts.earn(0);
  hosts.send_to(0, 5000, 3);
  hosts.settle_all();
  EXPECT_EQ(receiver.sink.arrivals.size(), 1U);
}

TEST(VerbsXrc, WhatAPeerSentThatWasGivenUpIsForgottenWithTheMemory) {
  Hosts hosts(1);
  End& receiver = *hosts.ends[0];
  hosts.earn(0);
  for (std::uint64_t i = 0; i < 5; ++i) hosts.send_to(0, 2000, i);
  for (int i = 0; i < 1000; ++i) hosts.a.transport->progress();
  receiver.sink.links.at(0)->abandon();  // it has not looked
  for (int i = 0; i < 5000; ++i) receiver.transport->progress();
  End other(9, {}, std::byte{1}, hosts.here.file.get());
  Link& link = other.connect(receiver);
  EXPECT_TRUE(link.ask(shared));
  settle(other, receiver);
  ASSERT_TRUE(link.channels().has(shared));
  link.release(shared, send(link, shared, 2000, 7));
  settle(other, receiver);
  ASSERT_EQ(receiver.sink.arrivals.size(), 1U);
  EXPECT_EQ(receiver.sink.arrivals[0].number, 7U);
}

TEST(VerbsXrc, ASleeperIsWoken) {
  Hosts hosts(1);
  hosts.earn(0);
  const int descriptor = hosts.ends[0]->transport->descriptor();
  hosts.ends[0]->transport->arm();
  EXPECT_FALSE(is_readable(descriptor, 0));
  hosts.send_to(0, 3000, 1);
  EXPECT_TRUE(is_readable(descriptor, 10'000));
}

TEST(VerbsXrc, ManyFramesAreTakenWhereFewBuffersAreLeft) {
  Hosts hosts(1);
  hosts.earn(0);
  std::uint64_t number = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) hosts.send_to(0, 64, number++);
    hosts.settle_all();
  }
  ASSERT_EQ(hosts.ends[0]->sink.arrivals.size(), number);
  for (std::uint64_t i = 0; i < number; ++i) EXPECT_EQ(hosts.ends[0]->sink.arrivals[i].number, i);
}

}  // namespace
}  // namespace hawser::transport::verbs
