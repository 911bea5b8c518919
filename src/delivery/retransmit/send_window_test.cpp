#include "delivery/retransmit/send_window.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "delivery/retransmit/acknowledger.hpp"

namespace hawser::delivery {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr SendWindow::Settings settings{.frames_initial = 4,
                                        .timeout_ns_initial = 10 * ms,
                                        .timeout_ns_min = 2 * ms,
                                        .timeout_ns_max = 100 * ms};

class Window : public ::testing::Test {
 protected:
  /// A frame leaves at NOW; kept unless its channel is reliable.
  void send(std::uint64_t now, bool reliable = false) {
    window.add({.sequence = next,
                .bytes = 8,
                .frame = reliable ? nullptr : &memory[next % memory.size()],
                .may_be_lost = !reliable},
               now);
    ++next;
  }
  void acknowledge(const Acknowledgement& acknowledgement, std::uint64_t now) {
    window.acknowledge(acknowledgement, now,
                       [&](const SentFrame& frame) { released.push_back(frame.sequence); });
  }
  /// What is sent again at NOW.
  std::vector<std::uint32_t> due(std::uint64_t now) {
    std::vector<std::uint32_t> again;
    window.on_time(now, [&](const SentFrame& frame) {
      if (!has_room) return false;
      EXPECT_TRUE(frame.frame == nullptr || !std::ranges::count(released, frame.sequence));
      again.push_back(frame.sequence);
      return true;
    });
    return again;
  }

  SendWindow window{settings};
  std::array<std::byte, 64> memory{};
  std::uint32_t next = 0;
  bool has_room = true;
  std::vector<std::uint32_t> released;
};

using Sequences = std::vector<std::uint32_t>;

TEST_F(Window, WantsToKnowTheTimeOfFewFrames) {
  acknowledge({.expected = 0, .window = 64, .early = 0}, 0);
  int wanted = 0;
  for (int i = 0; i < 32; ++i) {
    wanted += window.wants_time() ? 1 : 0;
    send(window.wants_time() ? ms : 0);
  }
  EXPECT_EQ(wanted, 4);
  // The newest that was measured says it, though the last frame was not: three times a round trip.
  acknowledge({.expected = 31, .window = 64, .early = 0}, 11 * ms);
  EXPECT_EQ(window.deadline_ns(), 11 * ms + 30 * ms);
}

TEST_F(Window, ADamagedFrameIsDueAtOnce) {
  for (int i = 0; i < 4; ++i) send(0);
  EXPECT_EQ(due(1), Sequences{});
  window.on_damaged(2);
  EXPECT_EQ(window.deadline_ns(), 0U);
  EXPECT_EQ(due(1), Sequences{2});
  EXPECT_EQ(due(1), Sequences{});
}

/// The number was damaged as well, or is that of a frame that has come since.
TEST_F(Window, OfADamagedFrameThatIsNoneOfOursTheOldestIsDue) {
  window.on_damaged(0);
  EXPECT_EQ(due(1), Sequences{}) << "nothing is on its way";
  for (int i = 0; i < 4; ++i) send(0);
  window.on_damaged(4);
  EXPECT_EQ(due(1), Sequences{0});
  acknowledge({.expected = 1, .window = 4, .early = 0b10}, 2);
  due(2);
  window.on_damaged(3);
  EXPECT_EQ(due(3), Sequences{1});
  window.on_damaged(0);
  EXPECT_EQ(due(4), Sequences{1});
}

TEST_F(Window, ClosesAndOpensAsThePeerSays) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(window.has_room());
    send(0);
  }
  EXPECT_FALSE(window.has_room());
  acknowledge({.expected = 1, .window = 2}, 1);
  EXPECT_FALSE(window.has_room());
  acknowledge({.expected = 3, .window = 2}, 2);
  EXPECT_TRUE(window.has_room());
  EXPECT_EQ(released, (Sequences{0, 1, 2}));
}

TEST_F(Window, AnswersInTimeCauseNothing) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    send(i * ms);
    EXPECT_EQ(due(i * ms), Sequences());
    acknowledge({.expected = next, .window = 4}, i * ms + 1000);
  }
  EXPECT_TRUE(window.is_empty());
  EXPECT_EQ(window.deadline_ns(), never_ns);
}

TEST_F(Window, TheOldestIsSentAgainEverMoreSeldom) {
  send(0);
  send(0);
  std::uint64_t now = 0;
  for (const std::uint64_t wait : {10U, 20U, 40U, 80U, 100U, 100U}) {
    EXPECT_EQ(window.deadline_ns(), now + wait * ms);
    EXPECT_EQ(due(now + wait * ms - 1), Sequences());
    now += wait * ms;
    EXPECT_EQ(due(now), Sequences{0});
  }
  EXPECT_EQ(window.unanswered(), 6U);
  acknowledge({.expected = 1, .window = 4}, now);
  EXPECT_EQ(window.unanswered(), 0U);
}

TEST_F(Window, AnswersThatBringNothingNewDoNotPutItOff) {
  send(0);
  for (std::uint64_t now = ms; now < 10 * ms; now += ms) {
    acknowledge({.expected = 0, .window = 4}, now);
    EXPECT_EQ(due(now), Sequences());
  }
  EXPECT_EQ(window.deadline_ns(), 10 * ms);
  EXPECT_EQ(due(10 * ms), Sequences{0});
}

TEST_F(Window, AGapIsSentAgainAtOnceAndOnce) {
  for (int i = 0; i < 4; ++i) send(0);
  acknowledge({.expected = 0, .window = 4, .early = 0b101}, 1000);  // 1 and 3 are there
  EXPECT_EQ(released, (Sequences{1, 3}));
  EXPECT_EQ(window.deadline_ns(), 0U);
  EXPECT_EQ(due(1000), (Sequences{0, 2}));
  acknowledge({.expected = 0, .window = 4, .early = 0b101}, 1000);
  EXPECT_EQ(released, (Sequences{1, 3}));
}

TEST_F(Window, WhatFindsNoRoomStaysDue) {
  send(0);
  has_room = false;
  EXPECT_EQ(due(10 * ms), Sequences());
  EXPECT_EQ(window.deadline_ns(), 0U);
  has_room = true;
  EXPECT_EQ(due(10 * ms), Sequences{0});
}

TEST_F(Window, OfAReliableChannelThePeerIsAskedOnly) {
  send(0, true);
  send(0, true);
  acknowledge({.expected = 0, .window = 4, .early = 1}, 1000);
  EXPECT_EQ(due(1000), Sequences()) << "it overtook the other; nothing is missing";
  EXPECT_EQ(due(20 * ms), Sequences{0});
  acknowledge({.expected = 2, .window = 4}, 21 * ms);
  EXPECT_EQ(released, Sequences());
  EXPECT_TRUE(window.is_empty());
}

/// What has arrived ahead of its turn may be the oldest, if the peer says less than it knows.
TEST_F(Window, WhatWasReleasedIsNotSentAgain) {
  for (int i = 0; i < 3; ++i) send(0);
  acknowledge({.expected = 0, .window = 4, .early = 1}, 1);
  acknowledge({.expected = 1, .window = 4, .early = 0}, 2);
  EXPECT_EQ(released, (Sequences{1, 0}));
  window.on_damaged(0);
  EXPECT_EQ(due(3), Sequences{1}) << "the peer is asked";
  EXPECT_EQ(due(200 * ms), Sequences{1});
  window.on_broken(0, 0);
  EXPECT_EQ(due(200 * ms), Sequences{2});
  acknowledge({.expected = 3, .window = 4}, 200 * ms);
  EXPECT_EQ(released, (Sequences{1, 0, 2}));
}

TEST_F(Window, OldAndImpossibleAcknowledgementsChangeNothing) {
  for (int i = 0; i < 3; ++i) send(0);
  acknowledge({.expected = 2, .window = 3}, 1);
  released.clear();
  for (const std::uint32_t expected : {0U, 1U, 4U, 1000U, ~0U})
    acknowledge({.expected = expected, .window = 1, .early = ~std::uint64_t{0}}, 2);
  EXPECT_EQ(released, Sequences());
  EXPECT_EQ(window.size(), 1U);
  EXPECT_TRUE(window.has_room());
}

TEST_F(Window, AWindowOfThePeersChoiceIsBounded) {
  send(0);
  acknowledge({.expected = 1, .window = ~0U}, 1);
  for (std::uint32_t i = 0; i < SendWindow::frames_max; ++i) send(2, true);
  EXPECT_FALSE(window.has_room());
}

TEST_F(Window, GivenUpItReleasesWhatItKeeps) {
  send(0);
  send(0, true);
  send(0);
  window.clear([&](const SentFrame& frame) { released.push_back(frame.sequence); });
  EXPECT_EQ(released, (Sequences{0, 2}));
  EXPECT_EQ(window.deadline_ns(), never_ns);
}

TEST(Acknowledging, IsDueAfterSomeFramesOrATimeOrAtOnce) {
  Acknowledger acknowledger({.frames = 3, .delay_ns = ms});
  EXPECT_EQ(acknowledger.deadline_ns(), never_ns);
  acknowledger.on_delivered(5, 100);
  acknowledger.on_delivered(0, 100);
  EXPECT_EQ(acknowledger.deadline_ns(), 5 + ms);
  acknowledger.on_delivered(0, 100);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U);
  acknowledger.on_sent();
  EXPECT_EQ(acknowledger.deadline_ns(), never_ns);
  acknowledger.hurry();
  EXPECT_EQ(acknowledger.deadline_ns(), 0U);
}

/// A sender and a receiver with a line between them that loses, repeats and reorders, both ways.
class Line {
 public:
  explicit Line(std::uint64_t seed) : random_(seed) {}

  void run(std::uint32_t frames) {
    for (int steps = 0; delivered_ < frames || !window_.is_empty(); ++steps) {
      ASSERT_LT(steps, 1'000'000);
      now_ += 1 + random_() % ms;
      while (next_ < frames && window_.has_room() && random_() % 3 != 0) send_next();
      for (const std::uint32_t sequence : arrived(frames_)) receive(sequence);
      if (acknowledger_.deadline_ns() <= now_) acknowledge();
      for (const Acknowledgement& answer : arrived(answers_))
        window_.acknowledge(answer, now_, [&](const SentFrame& frame) {
          EXPECT_EQ(kept_.erase(frame.sequence), 1U) << "released twice";
        });
      window_.on_time(now_, [&](const SentFrame& frame) {
        EXPECT_TRUE(kept_.contains(frame.sequence)) << "sent again after its release";
        put(frames_, frame.sequence);
        return random_() % 4 != 0;
      });
    }
    EXPECT_TRUE(kept_.empty());
  }

 private:
  void send_next() {
    window_.add({.sequence = next_, .bytes = 1, .frame = &byte_, .may_be_lost = true}, now_);
    kept_.insert(next_);
    put(frames_, next_++);
  }
  void receive(std::uint32_t sequence) {
    if (sequence != delivered_) {
      acknowledger_.hurry();
      if (sequence > delivered_) early_.insert(sequence);
      return;
    }
    for (++delivered_; early_.erase(delivered_) != 0;) ++delivered_;
    acknowledger_.on_delivered(now_, 1);
  }
  void acknowledge() {
    Acknowledgement answer{.expected = delivered_, .window = 8};
    for (const std::uint32_t sequence : early_)
      if (sequence - delivered_ - 1 < 64) answer.early |= 1ULL << (sequence - delivered_ - 1);
    put(answers_, answer);
    acknowledger_.on_sent();
  }
  template <class T>
  void put(std::multimap<std::uint64_t, T>& line, const T& what) {
    for (std::uint64_t copies = random_() % 4; copies > 0; copies /= 2)
      line.emplace(now_ + random_() % (5 * ms), what);
  }
  template <class T>
  std::vector<T> arrived(std::multimap<std::uint64_t, T>& line) {
    std::vector<T> all;
    while (!line.empty() && line.begin()->first <= now_) {
      all.push_back(line.begin()->second);
      line.erase(line.begin());
    }
    return all;
  }

  std::mt19937_64 random_;
  std::uint64_t now_ = 1;
  SendWindow window_{settings};
  Acknowledger acknowledger_{{.frames = 3, .delay_ns = ms}};
  std::byte byte_{};
  std::uint32_t next_ = 0;
  std::uint32_t delivered_ = 0;
  std::set<std::uint32_t> kept_;
  std::set<std::uint32_t> early_;
  std::multimap<std::uint64_t, std::uint32_t> frames_;
  std::multimap<std::uint64_t, Acknowledgement> answers_;
};

TEST(Acknowledger, ALongFrameCountsForSeveral) {
  Acknowledger acknowledger({.frames = 8, .delay_ns = 1000});
  acknowledger.on_delivered(5, 8000);
  EXPECT_EQ(acknowledger.deadline_ns(), 1005U);
  acknowledger.on_delivered(0, 32'800);
  EXPECT_EQ(acknowledger.deadline_ns(), 0U) << "its sender has no other buffer";
}

TEST(Retransmission, EverythingArrivesOverABadLine) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Line(seed).run(300);
    if (HasFatalFailure()) return;
  }
}

TEST(Acknowledger, ItFollowsTheWindowOfItsSender) {
  Acknowledger acknowledger({.frames = 8, .delay_ns = ms});
  const auto frames_until_due = [&] {
    for (int frames = 1;; ++frames) {
      acknowledger.on_delivered(0, 8);
      if (acknowledger.deadline_ns() == 0) {
        acknowledger.on_sent();
        return frames;
      }
    }
  };
  EXPECT_EQ(frames_until_due(), 8);
  acknowledger.follow(4);
  EXPECT_EQ(frames_until_due(), 2);
  acknowledger.follow(1);
  EXPECT_EQ(frames_until_due(), 1);
  acknowledger.follow(64);
  EXPECT_EQ(frames_until_due(), 8);
}

TEST_F(Window, NarrowingHoldsUntilThePeerSaysOtherwise) {
  window.narrow(2);
  send(0);
  send(0);
  EXPECT_FALSE(window.has_room());
  window.narrow(3);
  EXPECT_FALSE(window.has_room()) << "it does not widen";
  acknowledge({.expected = 2, .window = 4}, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(window.has_room());
    send(1);
  }
  EXPECT_FALSE(window.has_room());
  window.narrow(0);
  acknowledge({.expected = 6, .window = 1}, 2);
  EXPECT_TRUE(window.has_room()) << "one frame may always leave";
}

}  // namespace
}  // namespace hawser::delivery
