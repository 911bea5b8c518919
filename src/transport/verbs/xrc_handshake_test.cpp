#include "transport/verbs/xrc_handshake.hpp"

#include <gtest/gtest.h>

namespace hawser::transport::verbs {
namespace {

using State = XrcAsker::State;
using Change = XrcAsker::Outcome::Change;

/// An asker and a granter, and what the granter was told to do.
struct Two {
  XrcAsker asker;
  XrcGranter granter;
  bool grants = true;
  int decided = 0;
  int dropped = 0;

  XrcSaid answer(const XrcSaid& said) {
    const auto drop = [this] { ++dropped; };
    if (said.kind == XrcKind::ask)
      return granter.on_ask(said.attempt, drop, [this] { return ++decided, grants; });
    if (said.kind == XrcKind::end) return granter.on_end(said.attempt, drop);
    return {};
  }
  /// The question of a new attempt.
  XrcSaid ask() {
    asker.ask(true, 0);
    return asker.go_on(0);
  }
  void open() {
    EXPECT_EQ(asker.on_message(answer(ask())).change, Change::open);
    EXPECT_TRUE(asker.is(State::open));
  }
};

TEST(XrcHandshake, TheHostIsAskedForOnceAndThenTheChannel) {
  Two two;
  const XrcSaid where = two.asker.ask(false, 0);
  EXPECT_EQ(where.kind, XrcKind::where);
  EXPECT_EQ(two.asker.on_message({XrcKind::here, where.attempt + 1}).change, Change::none);
  EXPECT_EQ(two.asker.on_message({XrcKind::here, where.attempt}).change, Change::located);
  EXPECT_EQ(two.asker.deadline_ns(), base::never_ns) << "it waits for its turn";
  const XrcSaid ask = two.asker.go_on(0);
  EXPECT_EQ(ask.kind, XrcKind::ask);
  EXPECT_EQ(two.asker.on_message(two.answer(ask)).change, Change::open);
  EXPECT_TRUE(two.granter.has_granted());
  EXPECT_EQ(two.asker.deadline_ns(), base::never_ns);
}

TEST(XrcHandshake, WhatIsLostIsSaidAgainEverMoreSeldom) {
  Two two;
  const XrcSaid ask = two.ask();
  std::uint64_t last_ns = 0;
  std::uint64_t interval_ns = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t due_ns = two.asker.deadline_ns();
    EXPECT_EQ(two.asker.on_time(due_ns - 1).kind, XrcKind::none);
    const XrcSaid again = two.asker.on_time(due_ns);
    EXPECT_EQ(again.kind, XrcKind::ask);
    EXPECT_EQ(again.attempt, ask.attempt);
    EXPECT_GE(due_ns - last_ns, interval_ns);
    interval_ns = due_ns - last_ns;
    last_ns = due_ns;
  }
  EXPECT_EQ(interval_ns, XrcRepetition::interval_ns_max);
}

TEST(XrcHandshake, AQuestionThatComesTwiceIsDecidedOnce) {
  for (const bool grants : {true, false}) {
    Two two;
    two.grants = grants;
    const XrcSaid ask = two.ask();
    const XrcSaid first = two.answer(ask);
    two.grants = !grants;
    EXPECT_EQ(two.answer(ask).kind, first.kind);
    EXPECT_EQ(two.decided, 1);
    EXPECT_EQ(two.granter.has_granted(), grants);
    two.asker.on_message(first);
    EXPECT_EQ(two.asker.on_message(first).send.kind, XrcKind::none);
  }
}

TEST(XrcHandshake, AfterARefusalItMayBeAskedAnew) {
  Two two;
  two.grants = false;
  EXPECT_EQ(two.asker.on_message(two.answer(two.ask())).change, Change::refused);
  EXPECT_TRUE(two.asker.is(State::closed));
  two.grants = true;
  two.open();
}

TEST(XrcHandshake, TheEndIsRepeatedUntilItIsAnswered) {
  Two two;
  two.open();
  two.asker.give_back();
  EXPECT_EQ(two.asker.deadline_ns(), base::never_ns) << "what was sent has to leave first";
  two.asker.end(0);  // lost
  const XrcSaid again = two.asker.on_time(two.asker.deadline_ns());
  EXPECT_EQ(again.kind, XrcKind::end);
  two.answer(again);  // its answer is lost
  EXPECT_EQ(two.dropped, 1);
  const XrcSaid ended = two.answer(two.asker.on_time(two.asker.deadline_ns()));
  EXPECT_EQ(two.dropped, 1);
  EXPECT_EQ(two.asker.on_message(ended).change, Change::ended);
  EXPECT_TRUE(two.asker.is(State::closed));
  two.open();
}

TEST(XrcHandshake, AQuestionThatIsLateGetsNothing) {
  Two two;
  const XrcSaid ask = two.ask();
  two.asker.on_message(two.answer(ask));
  two.asker.on_message(two.answer(two.asker.end(0)));
  EXPECT_EQ(two.answer(ask).kind, XrcKind::none);
  EXPECT_FALSE(two.granter.has_granted());
  two.open();
  EXPECT_EQ(two.answer(ask).kind, XrcKind::none) << "of an attempt before";
  EXPECT_TRUE(two.granter.has_granted());
}

TEST(XrcHandshake, AnEndThatOvertakesItsQuestionEndsItAllTheSame) {
  Two two;
  const XrcSaid ask = two.ask();
  const XrcSaid end = two.asker.end(0);  // the queue pair broke
  EXPECT_EQ(two.answer(end).kind, XrcKind::ended);
  EXPECT_EQ(two.answer(ask).kind, XrcKind::none);
  EXPECT_EQ(two.decided, 0);
}

TEST(XrcHandshake, AnEndThatIsLateEndsNothing) {
  Two two;
  two.open();
  const XrcSaid end = two.asker.end(0);
  two.asker.on_message(two.answer(end));
  two.open();
  EXPECT_EQ(two.answer(end).kind, XrcKind::ended);
  EXPECT_TRUE(two.granter.has_granted());
}

TEST(XrcHandshake, AGrantThatNobodyWaitsForIsEnded) {
  Two two;
  const XrcSaid grant = two.answer(two.ask());
  two.asker.abandon();
  const XrcSaid end = two.asker.on_message(grant).send;
  EXPECT_EQ(end.kind, XrcKind::end);
  two.answer(end);
  EXPECT_FALSE(two.granter.has_granted());
}

TEST(XrcHandshake, WhatWasGrantedIsCalledBackUntilItComes) {
  Two two;
  two.open();
  two.granter.recall(0);  // lost
  const XrcSaid again = two.granter.on_time(two.granter.deadline_ns());
  EXPECT_EQ(two.asker.on_message(again).change, Change::recalled);
  two.asker.give_back();
  EXPECT_EQ(two.asker.on_message(again).change, Change::none) << "it is under way";
  two.answer(two.asker.end(0));
  EXPECT_EQ(two.granter.deadline_ns(), base::never_ns);
}

}  // namespace
}  // namespace hawser::transport::verbs
