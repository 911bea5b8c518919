// Connections, fast paths and operations on memory between two ends in one process, over softrdma.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "transport/verbs/test_end.hpp"

namespace hawser::transport::verbs {
namespace {

TEST(VerbsConnection, OneThatWasAskedForServesBothDirections) {
  Pair pair;
  EXPECT_FALSE(pair.there->channels().has(rc));
  EXPECT_TRUE(pair.there->earnable().has(rc));
  EXPECT_FALSE(pair.there->earnable().has(fast)) << "there is no connection";
  pair.connect();
  EXPECT_EQ(pair.b.sink.asked, 1);
  EXPECT_EQ(pair.a.sink.asked, 0);
  EXPECT_TRUE(pair.there->earnable().has(fast));
  const std::size_t largest = pair.there->frame_bytes_max(rc);
  EXPECT_GT(largest, 16000U);
  std::uint64_t number = 0;
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{129}, std::size_t{8256}, std::size_t{8257}, largest}) {
    pair.there->release(rc, send(*pair.there, rc, bytes, number));
    pair.back->release(rc, send(*pair.back, rc, bytes, number));
    settle(pair.a, pair.b);
    for (const End* end : {&pair.a, &pair.b}) {
      ASSERT_EQ(end->sink.arrivals.size(), number + 1);
      EXPECT_EQ(end->sink.arrivals.back().kind, rc);
      EXPECT_EQ(end->sink.arrivals.back().bytes, bytes);
      EXPECT_EQ(end->sink.damaged, 0);
    }
    ++number;
  }
}

TEST(VerbsConnection, WhatHasLeftIsToldApartWhereThatIsWanted) {
  constexpr int long_ms = 5000;
  Settings settings;
  EXPECT_EQ(Pair(settings).a.transport->departures_descriptor(), -1);
  settings.tells_departures = true;
  Pair pair(settings);
  pair.connect();
  std::vector<std::uint64_t> local(1000, 1), remote(1000, 2);
  const auto address = [](auto& memory) { return reinterpret_cast<std::uint64_t>(memory.data()); };
  const auto held = std::move(*pair.there->hold(address(local), 8000));
  const auto theirs = std::move(*pair.back->hold(address(remote), 8000));
  pair.a.transport->arm();
  pair.b.transport->arm();
  ASSERT_TRUE(pair.there->start({.kind = Operation::Kind::get,
                                 .local_address = address(local),
                                 .local_key = held->local_key(),
                                 .remote_key = theirs->remote_key(),
                                 .remote_address = address(remote),
                                 .bytes = 8000,
                                 .token = 1}));
  EXPECT_TRUE(is_readable(pair.a.transport->departures_descriptor(), long_ms));
  EXPECT_FALSE(is_readable(pair.a.transport->descriptor(), 0));
  settle(pair.a, pair.b);
  EXPECT_EQ(local, remote);
  pair.back->release(rc, send(*pair.back, rc, 8, 0));
  EXPECT_TRUE(is_readable(pair.a.transport->descriptor(), long_ms));
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.a.sink.arrivals.size(), 1U);
}

TEST(VerbsConnection, TwoThatAskAtOnceGetOne) {
  Pair pair;
  EXPECT_TRUE(pair.there->ask(rc));
  EXPECT_TRUE(pair.back->ask(rc));
  settle(pair.a, pair.b);
  EXPECT_TRUE(pair.there->channels().has(rc));
  EXPECT_TRUE(pair.back->channels().has(rc));
  EXPECT_EQ(pair.a.sink.asked + pair.b.sink.asked, 0) << "both had reserved their slot";
}

TEST(VerbsConnection, ARefusalIsHeardAndChangesNothing) {
  Pair pair;
  pair.b.sink.grants = false;
  EXPECT_TRUE(pair.there->ask(rc));
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.a.sink.refused, 1);
  EXPECT_FALSE(pair.there->channels().has(rc));
  pair.b.sink.grants = true;
  pair.connect();
}

TEST(VerbsConnection, OneThatIsGivenBackEndsOnBothSidesWithNothingLost) {
  Pair pair;
  pair.connect();
  std::vector<std::byte*> sent;
  for (std::uint64_t i = 0; i < 20; ++i) sent.push_back(send(*pair.there, rc, 500, i));
  EXPECT_TRUE(pair.there->give_back(rc));
  EXPECT_FALSE(pair.there->channels().has(rc)) << "at once";
  settle(pair.a, pair.b);
  EXPECT_FALSE(pair.back->channels().has(rc));
  EXPECT_EQ(pair.a.sink.given_back, 1);
  EXPECT_EQ(pair.b.sink.given_back, 1);
  EXPECT_EQ(pair.b.sink.arrivals.size(), 20U);
  EXPECT_TRUE(pair.a.sink.undelivered.empty());
  for (std::byte* frame : sent) pair.there->release(rc, frame);
  pair.connect();
}

TEST(VerbsConnection, APeerThatIsGoneIsNotWaitedFor) {
  Pair pair;
  pair.connect();
  pair.make_fast_path();
  std::byte* const frame = send(*pair.there, rc, 500, 1);
  pair.there->abandon();  // b is never polled again
  EXPECT_TRUE(pair.there->channels().empty());
  EXPECT_TRUE(pair.there->earnable().empty());
  EXPECT_EQ(pair.a.sink.given_back, 1);
  pair.there->release(rc, frame);
  EXPECT_EQ(pair.a.transport->deadline_ns(), base::never_ns);
  EXPECT_TRUE(pair.a.transport->is_drained());
  pair.there->abandon();
  EXPECT_EQ(pair.a.sink.given_back, 1) << "there was nothing more to end";
}

TEST(VerbsConnection, AQuestionToAPeerThatIsGoneIsNotRepeated) {
  Pair pair;
  EXPECT_TRUE(pair.there->ask(rc));
  EXPECT_NE(pair.a.transport->deadline_ns(), base::never_ns);
  pair.there->abandon();
  EXPECT_EQ(pair.a.transport->deadline_ns(), base::never_ns);
  EXPECT_EQ(pair.a.sink.given_back, 1) << "the slot that was reserved for it";
}

TEST(VerbsConnection, WhatABrokenOneCarriedGoesByDatagrams) {
  Settings breaking;
  breaking.break_one_in = 1;
  Pair pair(breaking);
  pair.connect();
  const std::size_t largest = pair.there->frame_bytes_max(rc);
  std::byte* const short_one = send(*pair.there, rc, 100, 1);
  EXPECT_EQ(pair.there->resend(rc, short_one, 100, false), Link::Resent::under_way)
      << "that it is broken has not been told yet";
  std::byte* const long_one = pair.there->reserve(rc, largest);
  ASSERT_NE(long_one, nullptr);
  make_frame({long_one, largest}, 2);
  pair.there->commit(rc);
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.a.sink.undelivered.size(), 1U);
  EXPECT_TRUE(pair.a.sink.undelivered[0].has(rc));
  EXPECT_EQ(pair.b.sink.undelivered.size(), 1U) << "what the other one sent may be lost, too";
  EXPECT_EQ(pair.a.sink.given_back, 1);
  EXPECT_EQ(pair.b.sink.given_back, 1);
  pair.b.sink.arrivals.clear();
  EXPECT_FALSE(pair.there->is_under_way(short_one));
  EXPECT_EQ(pair.there->resend(rc, short_one, 100, false), Link::Resent::sent);
  EXPECT_EQ(pair.there->resend(rc, long_one, largest, false), Link::Resent::sent);
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.b.sink.arrivals.size(), 2U);
  EXPECT_EQ(pair.b.sink.arrivals[0].number, 1U);
  EXPECT_EQ(pair.b.sink.arrivals[1].number, 2U);
  EXPECT_EQ(pair.b.sink.arrivals[1].bytes, largest);
  EXPECT_EQ(pair.b.sink.damaged, 0);
  pair.there->release(rc, short_one);
  pair.there->release(rc, long_one);
}

TEST(VerbsConnection, WhatIsUnderWayIsNotSentAgain) {
  Pair pair;
  pair.connect();
  std::byte* const frame = send(*pair.there, rc, 100, 1);
  EXPECT_EQ(pair.there->resend(rc, frame, 100, false), Link::Resent::under_way);
  pair.there->release(rc, frame);
}

TEST(VerbsConnection, WhatArrivedDamagedIsSentAgainThoughTheConnectionLives) {
  Pair pair;
  pair.connect();
  const std::size_t largest = pair.there->frame_bytes_max(rc);
  std::byte* const short_one = send(*pair.there, rc, 100, 1);
  std::byte* const long_one = send(*pair.there, rc, largest, 2);
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.b.sink.arrivals.size(), 2U);
  for (int attempt = 0; attempt < 2; ++attempt) {
    pair.b.sink.arrivals.clear();
    EXPECT_EQ(pair.there->resend(rc, short_one, 100, true), Link::Resent::sent);
    EXPECT_EQ(pair.there->resend(rc, long_one, largest, true), Link::Resent::sent);
    settle(pair.a, pair.b);
    ASSERT_EQ(pair.b.sink.arrivals.size(), 2U);
    EXPECT_EQ(pair.b.sink.arrivals[1].bytes, largest);
  }
  EXPECT_EQ(pair.b.sink.damaged, 0);
  pair.there->release(rc, short_one);
  pair.there->release(rc, long_one);
}

TEST(VerbsConnection, OneProcessHasManyAndGivesTheirMemoryBack) {
  constexpr std::uint32_t peers = 6;
  End a(0);
  std::vector<std::unique_ptr<End>> others;
  std::vector<Link*> links;
  const std::int64_t before = buffers_of(a);
  for (std::uint32_t i = 0; i < peers; ++i) {
    others.push_back(std::make_unique<End>(i + 1));
    links.push_back(&a.connect(*others.back()));
    EXPECT_TRUE(links.back()->ask(rc));
    settle(a, *others.back());
    ASSERT_TRUE(links.back()->channels().has(rc));
  }
  EXPECT_GE(links.front()->receive_window(), 4U);
  EXPECT_GT(buffers_of(a), before);
  for (std::uint32_t i = 0; i < peers; ++i) {
    links[i]->release(rc, send(*links[i], rc, 64, i));
    settle(a, *others[i]);
    EXPECT_EQ(others[i]->sink.arrivals.size(), 1U);
    EXPECT_TRUE(links[i]->give_back(rc));
    settle(a, *others[i]);
  }
  EXPECT_EQ(a.sink.given_back, static_cast<int>(peers));
}

TEST(VerbsFastPath, FramesGoThroughTheRingManyTimesAround) {
  for (const char* check : {"on", "off"}) {
    Settings settings;
    settings.fast_path_check = check;
    Pair pair(settings);
    pair.connect();
    pair.make_fast_path();
    EXPECT_EQ(pair.b.sink.asked, 2);
    const std::size_t largest = pair.there->frame_bytes_max(fast);
    EXPECT_GE(largest, 2072U);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::size_t bytes = 8 + i * 97 % (largest - 8);
      std::byte* const frame = send(*pair.there, fast, bytes, i);
      ASSERT_NE(frame, nullptr);
      settle(pair.a, pair.b);
      ASSERT_EQ(pair.b.sink.arrivals.size(), i + 1);
      EXPECT_EQ(pair.b.sink.arrivals.back().kind, fast);
      EXPECT_EQ(pair.b.sink.arrivals.back().number, i);
      EXPECT_EQ(pair.b.sink.arrivals.back().bytes, bytes);
      pair.there->release(fast, frame);
    }
    EXPECT_EQ(pair.b.sink.damaged, 0);
  }
}

TEST(VerbsFastPath, ASlotIsUsedAgainOnceItsFrameWasReleased) {
  Settings settings;
  settings.fast_path_slots = 4;
  Pair pair(settings);
  pair.connect();
  pair.make_fast_path();
  std::vector<std::byte*> frames;
  for (std::uint64_t i = 0; i < 4; ++i) frames.push_back(send(*pair.there, fast, 8, i));
  EXPECT_EQ(pair.there->reserve(fast, 8), nullptr);
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.there->reserve(fast, 8), nullptr) << "who knows whether it was understood";
  pair.there->release(fast, frames[1]);
  EXPECT_EQ(pair.there->reserve(fast, 8), nullptr) << "not its turn";
  pair.there->release(fast, frames[0]);
  frames[0] = send(*pair.there, fast, 8, 4);
  frames[1] = send(*pair.there, fast, 8, 5);
  ASSERT_NE(frames[1], nullptr);
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.b.sink.arrivals.size(), 6U);
  EXPECT_EQ(pair.b.sink.arrivals.back().number, 5U);
  for (std::byte* frame : frames) pair.there->release(fast, frame);
}

TEST(VerbsFastPath, AFrameIsSeenByOneWhoLooksForIt) {
  Pair pair;
  pair.connect();
  pair.make_fast_path();
  EXPECT_TRUE(pair.back->incoming().has(fast));
  EXPECT_TRUE(pair.back->front(fast).empty());
  pair.there->release(fast, send(*pair.there, fast, 40, 7));
  std::span<const std::byte> frame;
  for (int i = 0; i < 1000 && frame.empty(); ++i) {
    pair.a.transport->progress();
    frame = pair.back->front(fast);
  }
  ASSERT_EQ(frame.size(), 40U);
  EXPECT_EQ(check_frame(frame), 7U);
  pair.back->pop(fast);
  EXPECT_TRUE(pair.back->front(fast).empty());
  settle(pair.a, pair.b);
  EXPECT_TRUE(pair.b.sink.arrivals.empty());
}

TEST(VerbsFastPath, ASleeperGetsSendsInstead) {
  Pair pair;
  pair.connect();
  pair.make_fast_path();
  EXPECT_EQ(pair.b.transport->deadline_ns(), never_ns);
  pair.b.transport->arm();
  EXPECT_NE(pair.b.transport->deadline_ns(), never_ns) << "it looks again after a while";
  for (int i = 0; i < 100; ++i) pair.a.transport->progress();
  pair.there->release(fast, send(*pair.there, fast, 40, 1));
  pair.b.transport->progress();
  ASSERT_EQ(pair.b.sink.arrivals.size(), 1U);
  EXPECT_EQ(pair.b.sink.arrivals[0].kind, rc);
  settle(pair.a, pair.b);  // it is awake again
  pair.there->release(fast, send(*pair.there, fast, 40, 2));
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.b.sink.arrivals.size(), 2U);
  EXPECT_EQ(pair.b.sink.arrivals[1].kind, fast);
}

TEST(VerbsFastPath, OneThatIsGivenBackOrRecalledFreesItsMemory) {
  Pair pair;
  pair.connect();
  const std::int64_t before = buffers_of(pair.b);
  for (const bool is_recalled : {false, true}) {
    pair.make_fast_path();
    EXPECT_GT(buffers_of(pair.b), before);
    std::byte* const frame = send(*pair.there, fast, 40, 1);
    if (is_recalled) {
      EXPECT_TRUE(pair.back->recall(fast));
      settle(pair.a, pair.b);
      EXPECT_EQ(pair.a.sink.recalled, 1);
    }
    EXPECT_TRUE(pair.there->give_back(fast));
    EXPECT_FALSE(pair.there->channels().has(fast));
    settle(pair.a, pair.b);
    EXPECT_EQ(pair.b.sink.given_back, is_recalled ? 2 : 1);
    EXPECT_EQ(pair.b.sink.arrivals.size(), is_recalled ? 2U : 1U) << "its last frame came";
    EXPECT_EQ(buffers_of(pair.b), before);
    pair.there->release(fast, frame);
  }
}

TEST(VerbsFastPath, ItGoesWithItsConnection) {
  Settings breaking;
  breaking.break_one_in = 1;
  Pair pair(breaking);
  pair.connect();
  pair.make_fast_path();
  const std::int64_t before = buffers_of(pair.b);
  std::byte* const frame = send(*pair.there, fast, 40, 1);
  settle(pair.a, pair.b);
  EXPECT_FALSE(pair.there->channels().has(fast));
  EXPECT_FALSE(pair.there->earnable().has(fast));
  EXPECT_EQ(pair.b.sink.given_back, 2) << "the ring and the connection";
  EXPECT_LT(buffers_of(pair.b), before);
  pair.there->release(fast, frame);
}

/// Memory of both ends, of a pattern that depends on where it is.
std::vector<std::uint64_t> pattern(std::size_t words, std::uint64_t first) {
  std::vector<std::uint64_t> memory(words);
  std::iota(memory.begin(), memory.end(), first);
  return memory;
}

class VerbsOperation : public ::testing::TestWithParam<Operation::Kind> {
 protected:
  static constexpr std::size_t words = 100'000;
  /// Holds both memories and copies in the direction of the parameter.
  void hold() {
    local_held = std::move(*pair.there->hold(address(local), bytes()));
    remote_held = std::move(*pair.back->hold(address(remote), bytes()));
  }
  Operation operation(std::uint64_t token) {
    return {.kind = GetParam(),
            .local_address = address(local),
            .local_key = local_held->local_key(),
            .remote_key = remote_held->remote_key(),
            .remote_address = address(remote),
            .bytes = bytes(),
            .token = token};
  }
  static std::uint64_t address(std::vector<std::uint64_t>& memory) {
    return reinterpret_cast<std::uint64_t>(memory.data());
  }
  static std::size_t bytes() { return words * sizeof(std::uint64_t); }

  Pair pair;
  std::vector<std::uint64_t> local = pattern(words, 1);
  std::vector<std::uint64_t> remote = pattern(words, 1'000'000);
  std::unique_ptr<HeldMemory> local_held;
  std::unique_ptr<HeldMemory> remote_held;
};

TEST_P(VerbsOperation, CopiesAndSaysSo) {
  pair.connect();
  hold();
  ASSERT_TRUE(pair.there->start(operation(5)));
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.a.sink.operations.size(), 1U);
  EXPECT_EQ(pair.a.sink.operations[0], (std::pair<std::uint64_t, bool>{5, true}));
  EXPECT_EQ(local, remote);
  EXPECT_EQ(local[7], GetParam() == Operation::Kind::get ? 1'000'007U : 8U);
}

TEST_P(VerbsOperation, AChainedFrameComesWhenItIsDone) {
  pair.connect();
  hold();
  Operation chained = operation(6);
  chained.is_chained = true;
  ASSERT_TRUE(pair.there->start(chained));
  settle(pair.a, pair.b);
  EXPECT_TRUE(pair.a.sink.operations.empty()) << "it waits for its frame";
  std::byte* const frame = send(*pair.there, ChannelKind::rc_rdma, 64, 3);
  ASSERT_NE(frame, nullptr);
  while (pair.b.sink.arrivals.empty()) {
    pair.a.transport->progress();
    pair.b.transport->progress();
  }
  EXPECT_EQ(local, remote) << "done before the frame came";
  EXPECT_EQ(pair.b.sink.arrivals[0].number, 3U);
  settle(pair.a, pair.b);
  EXPECT_EQ(pair.a.sink.operations.size(), 1U);
  pair.there->release(ChannelKind::rc_rdma, frame);
}

TEST_P(VerbsOperation, OneThatFailsVoidsTheFrameBehindIt) {
  pair.connect();
  hold();
  Operation wrong = operation(7);
  wrong.is_chained = true;
  wrong.remote_key ^= 0x5555;
  ASSERT_TRUE(pair.there->start(wrong));
  std::byte* const frame = send(*pair.there, ChannelKind::rc_rdma, 64, 3);
  ASSERT_NE(frame, nullptr);
  settle(pair.a, pair.b);
  ASSERT_EQ(pair.a.sink.operations.size(), 1U);
  EXPECT_FALSE(pair.a.sink.operations[0].second);
  EXPECT_EQ(frame[0], void_frame_class);
  EXPECT_TRUE(pair.b.sink.arrivals.empty());
  EXPECT_EQ(pair.a.sink.undelivered.size(), 1U);
  EXPECT_FALSE(pair.there->start(operation(8))) << "there is no connection";
  EXPECT_EQ(pair.there->resend(ChannelKind::rc_rdma, frame, 64, false), Link::Resent::sent);
  pair.there->release(ChannelKind::rc_rdma, frame);
}

INSTANTIATE_TEST_SUITE_P(Directions, VerbsOperation,
                         ::testing::Values(Operation::Kind::get, Operation::Kind::put));

}  // namespace
}  // namespace hawser::transport::verbs
