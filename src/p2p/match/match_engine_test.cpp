// The matching engine against the obvious one: lists that are searched from their oldest end.
#include "p2p/match/match_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <random>

#include "p2p/backend.hpp"

namespace hawser::p2p {
namespace {

bool matches(const MatchKey& receive, const MatchKey& message) {
  return receive.context == message.context &&
         (receive.source == any_source || receive.source == message.source) &&
         (receive.tag == any_tag || receive.tag == message.tag);
}

class MatchEngineTest : public testing::Test {
 protected:
  memory::Ledger ledger_;
  MatchEngine engine_{ledger_};
};

TEST_F(MatchEngineTest, TakesTheReceiveThatWasPostedFirst) {
  PostedReceive exact;
  PostedReceive any;
  engine_.post(any, {1, any_source, any_tag});
  engine_.post(exact, {1, 3, 7});
  EXPECT_EQ(engine_.match_arrival({1, 3, 7}), &any);
  EXPECT_EQ(engine_.match_arrival({1, 3, 7}), &exact);
  EXPECT_EQ(engine_.match_arrival({1, 3, 7}), nullptr);
}

TEST_F(MatchEngineTest, KeepsContextsApart) {
  PostedReceive receive;
  engine_.post(receive, {4, any_source, any_tag});
  EXPECT_EQ(engine_.match_arrival({8, 0, 0}), nullptr);
  EXPECT_EQ(engine_.match_arrival({4, 0, 0}), &receive);
}

TEST_F(MatchEngineTest, AgreesWithLinearSearch) {
  std::mt19937 random(20261121);
  const auto number = [&](int below) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(below));
  };
  std::deque<PostedReceive> receives;
  std::deque<UnexpectedMessage> messages;
  std::list<PostedReceive*> posted;
  std::list<UnexpectedMessage*> unexpected;
  for (int step = 0; step < 20000; ++step) {
    const MatchKey message_key{static_cast<std::uint32_t>(number(2)), number(4), number(4)};
    MatchKey receive_key = message_key;
    if (number(3) == 0) receive_key.source = any_source;
    if (number(3) == 0) receive_key.tag = any_tag;
    switch (number(3)) {
      case 0: {  // a receive
        const auto expected = std::find_if(
            unexpected.begin(), unexpected.end(),
            [&](const UnexpectedMessage* m) { return matches(receive_key, m->node.key); });
        UnexpectedMessage* found = engine_.find_unexpected(receive_key);
        ASSERT_EQ(found, expected == unexpected.end() ? nullptr : *expected) << "step " << step;
        if (found != nullptr) {
          engine_.remove(*found);
          unexpected.erase(expected);
        } else {
          engine_.post(receives.emplace_back(), receive_key);
          posted.push_back(&receives.back());
        }
        break;
      }
      case 1: {  // a message
        const auto expected =
            std::find_if(posted.begin(), posted.end(),
                         [&](const PostedReceive* r) { return matches(r->node.key, message_key); });
        PostedReceive* found = engine_.match_arrival(message_key);
        ASSERT_EQ(found, expected == posted.end() ? nullptr : *expected) << "step " << step;
        if (found != nullptr) {
          posted.erase(expected);
        } else {
          engine_.store(messages.emplace_back(), message_key);
          unexpected.push_back(&messages.back());
        }
        break;
      }
      default:  // a cancellation
        if (posted.empty()) break;
        auto victim = posted.begin();
        std::advance(victim, number(static_cast<int>(posted.size())));
        engine_.cancel(**victim);
        posted.erase(victim);
    }
    ASSERT_EQ(engine_.posted_count(), posted.size());
    ASSERT_EQ(engine_.unexpected_count(), unexpected.size());
  }
}

TEST_F(MatchEngineTest, ManyMessagesUnderOneKeyStayInOrder) {
  std::deque<UnexpectedMessage> messages(50000);
  for (UnexpectedMessage& message : messages) engine_.store(message, {1, 2, 3});
  for (UnexpectedMessage& message : messages) {
    ASSERT_EQ(engine_.find_unexpected({1, any_source, 3}), &message);
    engine_.remove(message);
  }
}

}  // namespace
}  // namespace hawser::p2p
