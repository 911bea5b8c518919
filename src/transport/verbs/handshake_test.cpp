#include "transport/verbs/handshake.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hawser::transport::verbs {
namespace {

using State = Handshake::State;
using Change = Handshake::Outcome::Change;

constexpr std::uint64_t ms = 1'000'000;

/// A message with what its sender adds: the queue pair that it means.
struct Letter {
  HandshakeMessage message;
  int queue_pair;
};

/// One side with a model of its queue pair, that does what the outcomes say.
class Side {
 public:
  Side(std::uint32_t index, std::uint32_t peer)
      : handshake(index, peer), next_pair_(static_cast<int>(1000 * index)) {}

  void ask(std::uint64_t now) {
    make_pair();
    carry_out(handshake.ask(now), std::nullopt);
  }
  void close(std::uint64_t now) { carry_out(handshake.close(now), std::nullopt); }
  void drain(std::uint64_t now) {
    if (!drains) return;
    drains = false;
    carry_out(handshake.drained(now), std::nullopt);
  }
  void receive(const Letter& letter, std::uint64_t now) {
    carry_out(handshake.on_message(letter.message, now,
                                   [&] {
                                     ++questions;
                                     return grants;
                                   }),
              letter.queue_pair);
  }
  void on_time(std::uint64_t now) { carry_out(handshake.on_time(now), std::nullopt); }

  Handshake handshake;
  bool grants = true;
  int questions = 0;
  int opened = 0;
  int refused = 0;
  int ended = 0;
  bool drains = false;
  std::optional<int> pair;       // our queue pair
  std::optional<int> connected;  // the peer's that it is connected with
  std::vector<Letter> outgoing;

 private:
  void make_pair() { pair = next_pair_++; }
  void carry_out(const Handshake::Outcome& outcome, std::optional<int> peers) {
    switch (outcome.change) {
      case Change::none:
        break;
      case Change::connect:
        // A queue pair that was connected serves no other connection.
        if (!pair || connected) make_pair();
        connected = peers;
        break;
      case Change::open:
        if (outcome.connects) connected = peers;
        EXPECT_TRUE(connected) << "opened before it was connected";
        ++opened;
        break;
      case Change::drain:
        drains = true;
        break;
      case Change::refused:
      case Change::end:
        EXPECT_TRUE(pair) << "there is nothing to give up";
        ++(outcome.change == Change::end ? ended : refused);
        drains = false;
        pair.reset();
        connected.reset();
        break;
    }
    if (outcome.send.kind != HandshakeMessage::Kind::none)
      outgoing.push_back({outcome.send, pair.value_or(0)});
  }
  int next_pair_;
};

class TwoSides : public ::testing::Test {
 protected:
  /// Delivers what is under way, in order, until nothing is.
  void exchange() {
    while (!low.outgoing.empty() || !high.outgoing.empty()) {
      pass(low, high);
      pass(high, low);
    }
  }
  void pass(Side& from, Side& to) {
    for (const Letter& letter : std::exchange(from.outgoing, {})) to.receive(letter, now);
  }
  void expect_open() {
    EXPECT_EQ(low.handshake.state(), State::open);
    EXPECT_EQ(high.handshake.state(), State::open);
    EXPECT_EQ(low.connected, high.pair);
    EXPECT_EQ(high.connected, low.pair);
  }

  std::uint64_t now = 1;
  Side low{1, 2};
  Side high{2, 1};
};

TEST_F(TwoSides, AQuestionBecomesAConnection) {
  high.ask(now);
  EXPECT_EQ(high.handshake.state(), State::asking);
  exchange();
  expect_open();
  EXPECT_EQ(low.questions, 1);
  EXPECT_EQ(high.questions, 0);
  EXPECT_EQ(low.handshake.deadline_ns(), never_ns);
}

TEST_F(TwoSides, TwoQuestionsAtOnceBecomeOneConnection) {
  low.ask(now);
  high.ask(now);
  exchange();
  expect_open();
  EXPECT_EQ(low.opened + high.opened, 2);
  EXPECT_EQ(low.questions + high.questions, 0) << "both wanted it";
}

TEST_F(TwoSides, ARefusalLeavesNothing) {
  high.grants = false;
  low.ask(now);
  exchange();
  EXPECT_EQ(low.refused, 1);
  EXPECT_TRUE(low.handshake.is_closed());
  EXPECT_FALSE(high.pair);
  high.grants = true;
  low.ask(now);
  exchange();
  expect_open();
}

TEST_F(TwoSides, MessagesAreRepeatedEverMoreSeldom) {
  low.ask(now);
  low.outgoing.clear();
  std::uint64_t interval = Handshake::interval_ns_min;
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(low.handshake.deadline_ns(), now + interval);
    now = low.handshake.deadline_ns();
    low.on_time(now - 1);
    EXPECT_TRUE(low.outgoing.empty());
    low.on_time(now);
    ASSERT_EQ(low.outgoing.size(), 1U);
    low.outgoing.clear();
    interval = std::min(2 * interval, Handshake::interval_ns_max);
  }
}

TEST_F(TwoSides, UseStandsForALostConfirm) {
  low.ask(now);
  pass(low, high);
  pass(high, low);
  low.outgoing.clear();
  EXPECT_EQ(high.handshake.state(), State::answering);
  EXPECT_EQ(high.handshake.on_use().change, Change::open);
  EXPECT_EQ(high.handshake.on_use().change, Change::none);
}

TEST_F(TwoSides, ClosingWaitsUntilBothHaveDrained) {
  low.ask(now);
  exchange();
  high.close(now);
  exchange();
  EXPECT_EQ(low.handshake.state(), State::open) << "the other one may still send";
  high.drain(now);
  exchange();
  EXPECT_TRUE(low.drains);
  EXPECT_EQ(high.ended, 0);
  low.drain(now);
  exchange();
  EXPECT_EQ(low.ended, 1);
  EXPECT_EQ(high.ended, 1);
  low.ask(now);
  exchange();
  expect_open();
}

TEST_F(TwoSides, BothMayCloseAtOnce) {
  for (const bool both_drain_first : {false, true}) {
    low.ask(now);
    exchange();
    low.close(now);
    high.close(now);
    high.drain(now);
    if (!both_drain_first) exchange();
    low.drain(now);
    exchange();
    EXPECT_TRUE(low.handshake.is_closed());
    EXPECT_TRUE(high.handshake.is_closed());
  }
  EXPECT_EQ(low.ended, 2);
}

TEST_F(TwoSides, AQuestionOfThePastIsNotAnswered) {
  low.ask(now);
  const Letter question = low.outgoing.front();
  exchange();
  low.close(now);
  low.drain(now);
  exchange();
  high.drain(now);
  exchange();
  ASSERT_TRUE(high.handshake.is_closed());
  high.receive(question, now);
  EXPECT_TRUE(high.handshake.is_closed());
  EXPECT_EQ(high.questions, 1);
}

/// Both sides ask, refuse, use and close as a seed says, over a line that loses, repeats and
/// reorders. In the end the line is good, and they must agree.
class BadLine {
 public:
  explicit BadLine(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int step = 0; step < 2000; ++step) {
      now_ += random_() % (2 * ms);
      for (Side* side : {&low_, &high_}) act(*side);
      deliver(true);
    }
    low_.grants = high_.grants = true;
    for (int step = 0; step < 5000; ++step) {
      now_ += ms;
      for (Side* side : {&low_, &high_}) {
        side->on_time(now_);
        side->drain(now_);
      }
      deliver(false);
    }
    const bool is_open = low_.handshake.state() == State::open;
    EXPECT_EQ(high_.handshake.state() == State::open, is_open);
    EXPECT_EQ(low_.handshake.is_closed(), !is_open);
    EXPECT_EQ(high_.handshake.is_closed(), !is_open);
    if (!is_open) return;
    EXPECT_EQ(low_.connected, high_.pair);
    EXPECT_EQ(high_.connected, low_.pair);
  }
  [[nodiscard]] int opened() const { return low_.opened + high_.opened; }

 private:
  void act(Side& side) {
    side.on_time(now_);
    if (random_() % 3 == 0) side.drain(now_);
    if (random_() % 10 == 0) side.grants = !side.grants;
    if (side.handshake.is_closed() && random_() % 20 == 0) side.ask(now_);
    if (side.handshake.state() == State::open && random_() % 30 == 0) side.close(now_);
  }
  void deliver(bool is_bad) {
    put(low_, to_high_, is_bad);
    put(high_, to_low_, is_bad);
    take(to_high_, high_);
    take(to_low_, low_);
  }
  void put(Side& from, std::multimap<std::uint64_t, Letter>& line, bool is_bad) {
    for (const Letter& letter : std::exchange(from.outgoing, {}))
      for (std::uint64_t copies = is_bad ? random_() % 4 : 2; copies > 0; copies /= 2)
        line.emplace(now_ + (is_bad ? random_() % (20 * ms) : 0), letter);
  }
  void take(std::multimap<std::uint64_t, Letter>& line, Side& to) {
    while (!line.empty() && line.begin()->first <= now_) {
      const Letter letter = line.begin()->second;
      line.erase(line.begin());
      to.receive(letter, now_);
    }
  }

  std::mt19937_64 random_;
  std::uint64_t now_ = 1;
  Side low_{1, 2};
  Side high_{2, 1};
  std::multimap<std::uint64_t, Letter> to_low_;
  std::multimap<std::uint64_t, Letter> to_high_;
};

TEST(HandshakeProperty, BothAgreeWhateverTheLineDoes) {
  int opened = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    BadLine line(seed);
    line.run();
    opened += line.opened();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(opened, 10'000);
}

}  // namespace
}  // namespace hawser::transport::verbs
