// Receive buffers of connections, shared and not, between ends in one process, over softrdma.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

/// Frames of PAIR's first end to the other, which does not look.
void send_many(Pair& pair, int frames) {
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(frames); ++i) {
    std::byte* const frame = send(*pair.there, rc, 64, i);
    ASSERT_NE(frame, nullptr);
    pair.there->release(rc, frame);
  }
}

/// What was sent has come as far as the adapter of END, though nobody has polled.
void drive(End& end) {
  for (int i = 0; i < 8; ++i) end.transport->arm();
}

TEST(VerbsReceives, WhereFewAreLeftAllThatCameIsTakenInOneGo) {
  Pair pair;
  pair.connect();
  send_many(pair, 40);
  drive(pair.b);
  for (int i = 0; i < 2; ++i) pair.b.transport->progress();
  EXPECT_EQ(pair.b.sink.arrivals.size(), 32U) << "others have their turn";
  settle(pair.a, pair.b);
  constexpr int many = 60;  // of 64
  for (int time = 0; time < 3; ++time) {
    pair.b.sink.arrivals.clear();
    send_many(pair, many);
    drive(pair.b);
    for (int i = 0; i < 2; ++i) pair.b.transport->progress();
    EXPECT_EQ(pair.b.sink.arrivals.size(), static_cast<std::size_t>(many)) << "time " << time;
    settle(pair.a, pair.b);
  }
}

TEST(VerbsReceives, EventsOfTheAdapterWakeASleeperOnce) {
  Pair pair;
  pair.connect();
  const int descriptor = pair.b.transport->descriptor();
  pair.b.transport->arm();
  EXPECT_FALSE(is_readable(descriptor, 0));
  send_many(pair, 60);
  EXPECT_TRUE(is_readable(descriptor, 10'000));
  pair.b.transport->progress();
  pair.b.transport->arm();  // takes what says that few were left, too
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.b.sink.arrivals.size(), 60U);
  for (int i = 0; i < 2; ++i) pair.b.transport->arm();
  EXPECT_FALSE(is_readable(descriptor, 10)) << "nobody would ever sleep";
}

TEST(VerbsReceives, TheirMemoryGoesAWhileAfterTheLastConnection) {
  Pair pair;
  const auto bytes = [&] {
    return pair.b.ledger.current_bytes(memory::Account::connection_buffers);
  };
  pair.connect();
  EXPECT_GT(bytes(), 0);
  EXPECT_TRUE(pair.there->give_back(rc));
  settle(pair.a, pair.b);
  for (int i = 0; i < 5000; ++i) pair.b.transport->progress();
  EXPECT_EQ(bytes(), 0);
  pair.connect();
  pair.b.sink.arrivals.clear();
  send_many(pair, 20);
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.b.sink.arrivals.size(), 20U);
}

/// One end with several connected others.
struct Star {
  explicit Star(std::uint32_t peers, const Settings& settings) : a(0, settings) {
    for (std::uint32_t i = 0; i < peers; ++i) {
      others.push_back(std::make_unique<End>(i + 1, settings));
      links.push_back(&a.connect(*others.back()));
      EXPECT_TRUE(links.back()->ask(rc));
      settle(a, *others.back());
      bytes.push_back(buffers_of(a));
    }
  }
  /// Peer NUMBER sends FRAMES, a few at a time.
  void receive_from(std::uint32_t number, int frames) {
    Link& back = *others[number]->sink.links.at(0);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(frames); ++i) {
      back.release(rc, send(back, rc, 64, i));
      if (i % 8 == 7) settle(a, *others[number]);
    }
    settle(a, *others[number]);
  }
  End a;
  std::vector<std::unique_ptr<End>> others;
  std::vector<Link*> links;
  std::vector<std::int64_t> bytes;  // of A, after each connection
};

TEST(VerbsReceives, TheirNumberFollowsThatOfConnections) {
  Settings settings;
  settings.rc_receive_buffers = 16;
  settings.rc_receive_buffers_growth = 64;
  Star star(8, settings);
  EXPECT_GT(star.bytes[1], star.bytes[0]);
  EXPECT_GT(star.bytes[7], star.bytes[3]);
  for (std::uint32_t i = 1; i < 8; ++i) {
    EXPECT_TRUE(star.links[i]->give_back(rc));
    settle(star.a, *star.others[i]);
  }
  star.receive_from(0, 500);  // they go as frames come
  EXPECT_LT(buffers_of(star.a), star.bytes[2]);
}

TEST(VerbsReceives, WindowsDealOutWhatWaits) {
  Settings settings;
  settings.rc_receive_buffers = 32;
  settings.rc_receive_buffers_growth = 0;
  Star star(4, settings);
  EXPECT_EQ(star.links[0]->receive_window(), 7U) << "a part is for what needs no window";
  EXPECT_EQ(star.others[3]->sink.links.at(0)->send_window(), 7U) << "it was told so at once";
  EXPECT_EQ(star.others[3]->sink.links.at(0)->receive_window(), 28U);
}

Settings own_buffers() {
  Settings settings;
  settings.srq = false;
  return settings;
}

TEST(VerbsCredits, ThereAreFewAtFirstAndBothSidesKnow) {
  Pair pair(own_buffers());
  pair.connect();
  for (Link* link : {pair.there, pair.back}) {
    EXPECT_EQ(link->receive_window(), 8U);
    EXPECT_EQ(link->send_window(), 8U);
  }
}

TEST(VerbsCredits, TheyGrowWithUseUpToABoundAndShrinkInSilence) {
  Settings settings = own_buffers();
  settings.rc_credits_max = 32;
  Star star(2, settings);
  const std::int64_t before = buffers_of(star.a);
  star.receive_from(0, 300);
  EXPECT_EQ(star.links[0]->receive_window(), 32U);
  EXPECT_EQ(star.links[1]->receive_window(), 8U);
  EXPECT_GT(buffers_of(star.a), before);
  star.receive_from(1, 6000);
  EXPECT_EQ(star.links[0]->receive_window(), 8U);
  star.receive_from(0, 40);
  EXPECT_LT(star.links[0]->receive_window(), 32U);
}

TEST(VerbsCredits, FramesOfAllLengthsArriveAndMemoryComesBack) {
  Pair pair(own_buffers());
  const std::int64_t before = buffers_of(pair.b);
  for (int connection = 0; connection < 3; ++connection) {
    pair.connect();
    for (const std::size_t bytes :
         {std::size_t{8}, std::size_t{8256}, pair.there->frame_bytes_max(rc)})
      for (std::uint64_t i = 0; i < 50; ++i) {
        pair.there->release(rc, send(*pair.there, rc, bytes, i));
        settle(pair.a, pair.b);
        ASSERT_EQ(pair.b.sink.arrivals.back().number, i);
        ASSERT_EQ(pair.b.sink.arrivals.back().bytes, bytes);
      }
    EXPECT_EQ(pair.b.sink.damaged, 0);
    EXPECT_TRUE(pair.there->give_back(rc));
    settle(pair.a, pair.b);
  }
  // A slab of each priority stays for the next burst.
  EXPECT_LE(buffers_of(pair.b) - before, 17 * (8256 + 32832));
}

TEST(VerbsCredits, WhatABrokenConnectionHeldIsUsedAgain) {
  Settings settings = own_buffers();
  settings.break_one_in = 7;
  Pair pair(settings);
  std::int64_t most = 0;
  for (int connection = 0; connection < 20; ++connection) {
    if (!pair.there->channels().has(rc)) {
      pair.there->ask(rc);
      settle(pair.a, pair.b);
    }
    for (int i = 0; i < 7 && pair.there->channels().has(rc); ++i) {
      std::byte* const frame = send(*pair.there, rc, 64, 1);
      if (frame != nullptr) pair.there->release(rc, frame);
      settle(pair.a, pair.b);
    }
    if (connection == 2) most = buffers_of(pair.b);
  }
  EXPECT_GT(pair.b.sink.given_back, 5);
  EXPECT_LE(buffers_of(pair.b), most + std::int64_t{16} * (8256 + 32832));
}

}  // namespace
}  // namespace hawser::transport::verbs
