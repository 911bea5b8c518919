#include "p2p/match/keyed_queue.hpp"

namespace hawser::p2p {

namespace {

constexpr std::size_t buckets_at_start = 64;

}  // namespace

KeyedQueue::KeyedQueue(memory::Ledger& ledger)
    : ledger_(ledger),
      buckets_(std::make_unique<MatchNode*[]>(buckets_at_start)),
      mask_(buckets_at_start - 1) {
  ledger_.charge(memory::Account::matching, buckets_at_start * sizeof(MatchNode*));
}

KeyedQueue::~KeyedQueue() {
  ledger_.refund(memory::Account::matching, (mask_ + 1) * sizeof(MatchNode*));
}

void KeyedQueue::push_back_by_hash(MatchNode& node) {
  node.hash = node.key.hash();
  if (MatchNode** const link = link_of(node.key, node.hash); *link != nullptr) {
    newest_link_ = link;
    append(**link, node);
    return;
  }
  if (keys_ > mask_) grow();
  MatchNode*& bucket = buckets_[node.hash & mask_];
  newest_link_ = &bucket;
  node.previous = nullptr;
  node.last = &node;
  node.bucket_next = bucket;
  bucket = &node;
  ++keys_;
}

void KeyedQueue::erase(MatchNode& node) {
  --size_;
  if (node.previous == nullptr) {
    MatchNode** const link = link_to(node);
    leave_chain(link, node);
    unlink_head(link, node);
    return;
  }
  forget(node);
  node.previous->next = node.next;
  if (node.next != nullptr) {
    node.next->previous = node.previous;
    return;
  }
  // The end of the queue is kept in its head, which may be far: the key finds it.
  (*link_of(node.key, node.hash))->last = node.previous;
}

void KeyedQueue::grow() {
  const std::size_t old_count = mask_ + 1;
  const std::size_t new_count = old_count * 2;
  auto buckets = std::make_unique<MatchNode*[]>(new_count);
  for (std::size_t i = 0; i < old_count; ++i) {
    for (MatchNode* head = buckets_[i]; head != nullptr;) {
      MatchNode* following = head->bucket_next;
      MatchNode*& bucket = buckets[head->hash & (new_count - 1)];
      head->bucket_next = bucket;
      bucket = head;
      head = following;
    }
  }
  buckets_ = std::move(buckets);
  mask_ = new_count - 1;
  ledger_.charge(memory::Account::matching, old_count * sizeof(MatchNode*));
}

}  // namespace hawser::p2p
