#include "p2p/match/match_engine.hpp"

namespace hawser::p2p {

namespace {

/// KEY (full) as a receive of PATTERN would have to ask for it.
MatchKey as_pattern(MatchKey key, unsigned pattern) {
  if ((pattern & 1U) != 0) key.source = any_source;
  if ((pattern & 2U) != 0) key.tag = any_tag;
  return key;
}

MatchNode& node_of(UnexpectedMessage& message, unsigned pattern) {
  if (pattern == 0) return message.node;
  if (!message.wildcard_nodes)
    message.wildcard_nodes = std::make_unique<std::array<MatchNode, 3>>();
  return (*message.wildcard_nodes)[pattern - 1];
}

}  // namespace

MatchEngine::MatchEngine(memory::Ledger& ledger)
    : posted_{KeyedQueue(ledger), KeyedQueue(ledger), KeyedQueue(ledger), KeyedQueue(ledger)},
      unexpected_{KeyedQueue(ledger), KeyedQueue(ledger), KeyedQueue(ledger), KeyedQueue(ledger)} {}

void MatchEngine::post_with_wildcards(PostedReceive& receive) {
  posted_[pattern_of(receive.node.key)].push_back(receive.node);
  ++wildcards_;
}

void MatchEngine::cancel(PostedReceive& receive) {
  const unsigned pattern = pattern_of(receive.node.key);
  posted_[pattern].erase(receive.node);
  if (pattern != 0) --wildcards_;
}

PostedReceive* MatchEngine::match_with_wildcards(const MatchKey& key) {
  // Among those with wildcards and those without, the one that was posted first.
  MatchNode* first = nullptr;
  for (unsigned pattern = 0; pattern < pattern_count; ++pattern) {
    MatchNode* candidate = posted_[pattern].front(as_pattern(key, pattern));
    if (candidate != nullptr && (first == nullptr || candidate->order < first->order))
      first = candidate;
  }
  if (first == nullptr) return nullptr;
  PostedReceive* const receive = receive_of(first);
  cancel(*receive);
  return receive;
}

void MatchEngine::store(UnexpectedMessage& message, const MatchKey& key) {
  message.node.set_key(key);
  for (unsigned pattern = 0; pattern < pattern_count; ++pattern)
    if (indexed_[pattern]) add_to_index(message, pattern);
  message.older = youngest_;
  message.younger = nullptr;
  (youngest_ != nullptr ? youngest_->younger : oldest_) = &message;
  youngest_ = &message;
}

UnexpectedMessage* MatchEngine::look_up_unexpected(const MatchKey& key) {
  const unsigned pattern = pattern_of(key);
  if (!indexed_[pattern]) index_pattern(pattern);
  const MatchNode* node = unexpected_[pattern].front(key);
  return node == nullptr ? nullptr : static_cast<UnexpectedMessage*>(node->owner);
}

void MatchEngine::index_pattern(unsigned pattern) {
  indexed_[pattern] = true;
  for (UnexpectedMessage* message = oldest_; message != nullptr; message = message->younger)
    add_to_index(*message, pattern);
}

void MatchEngine::add_to_index(UnexpectedMessage& message, unsigned pattern) {
  MatchNode& node = node_of(message, pattern);
  node.key = as_pattern(message.node.key, pattern);
  node.owner = &message;
  unexpected_[pattern].push_back(node);
}

void MatchEngine::remove(UnexpectedMessage& message) {
  for (unsigned pattern = 0; pattern < pattern_count; ++pattern)
    if (indexed_[pattern]) unexpected_[pattern].erase(node_of(message, pattern));
  (message.older != nullptr ? message.older->younger : oldest_) = message.younger;
  (message.younger != nullptr ? message.younger->older : youngest_) = message.older;
}

}  // namespace hawser::p2p
