// Keyed queues against a list for each key.
#include "p2p/match/keyed_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

namespace hawser::p2p {
namespace {

struct Keys {
  std::size_t count;
  std::uint32_t hash_factor;  // of all of them
};

class KeyedQueueTest : public testing::TestWithParam<Keys> {
 protected:
  static MatchKey key_of(int tag) { return {1, 2, tag}; }
  static std::vector<int> tags() {
    std::vector<int> tags;
    for (int tag = 0; tags.size() < GetParam().count; ++tag)
      if (key_of(tag).hash() % GetParam().hash_factor == 0) tags.push_back(tag);
    return tags;
  }

  memory::Ledger ledger_;
  KeyedQueue queue_{ledger_};
};

TEST_P(KeyedQueueTest, AgreesWithAListForEachKey) {
  std::mt19937 random(20261126);
  const auto number = [&](std::size_t below) { return random() % below; };
  std::deque<MatchNode> nodes(512);
  std::vector<MatchNode*> unused;
  for (MatchNode& node : nodes) unused.push_back(&node);
  std::map<int, std::deque<MatchNode*>> lists;
  std::vector<MatchNode*> queued;
  const auto leave = [&](MatchNode* node) {
    std::erase(lists[node->key.tag], node);
    std::erase(queued, node);
    unused.push_back(node);
  };
  const std::vector<int> all = tags();
  int last = all[0];
  for (int step = 0; step < 50000; ++step) {
    // Often the key of the last step, whose place is known.
    const int tag = number(2) == 0 ? last : all[number(all.size())];
    last = tag;
    const std::size_t what = number(8);
    if (what < 4 && !unused.empty()) {
      MatchNode* const node = unused.back();
      unused.pop_back();
      node->set_key(key_of(tag));
      queue_.push_back(*node);
      lists[tag].push_back(node);
      queued.push_back(node);
    } else if (what < 7) {
      MatchNode* const oldest = lists[tag].empty() ? nullptr : lists[tag].front();
      ASSERT_EQ(queue_.front(key_of(tag)), oldest) << "step " << step;
      ASSERT_EQ(queue_.take_front(key_of(tag)), oldest) << "step " << step;
      if (oldest != nullptr) leave(oldest);
    } else if (!queued.empty()) {
      MatchNode* const victim = queued[number(queued.size())];
      queue_.erase(*victim);
      leave(victim);
    }
    ASSERT_EQ(queue_.size(), queued.size());
  }
}

// Some, in the buckets that there are at first; more than there are buckets; in one bucket.
INSTANTIATE_TEST_SUITE_P(Keys, KeyedQueueTest,
                         testing::Values(Keys{60, 1}, Keys{400, 1}, Keys{6, 64}));

}  // namespace
}  // namespace hawser::p2p
