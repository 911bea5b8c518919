// KeyedQueue: FIFO queues by match key in one hash table; every operation takes constant expected
// time at any depth, however many nodes share a key.
//
// The first node of a key (its head) hangs in the bucket's chain; the others follow it in a doubly
// linked list. Ownership: intrusive; nodes belong to receives and messages. Threads: the lane lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"
#include "memory/ledger/ledger.hpp"

namespace hawser::p2p {

/// What decides a match. `context` is the receiver's context index with the kind of traffic in its
/// low two bits; wildcards stand as any_source and any_tag in the keys of patterns.
struct MatchKey {
  std::uint32_t context;
  std::int32_t source;
  std::int32_t tag;

  friend bool operator==(const MatchKey&, const MatchKey&) = default;
  [[nodiscard]] std::uint64_t hash() const {
    const std::uint64_t low =
        (static_cast<std::uint64_t>(context) << 32) | static_cast<std::uint32_t>(source);
    return base::mix64(low + base::mix64(static_cast<std::uint32_t>(tag)));
  }
};

struct MatchNode {
  MatchKey key;
  std::uint32_t reserved = 0;
  std::uint64_t order = 0;           // of posting or arrival
  MatchNode* next = nullptr;         // same key
  MatchNode* previous = nullptr;     // same key; null: this is the head
  MatchNode* last = nullptr;         // of a head: the end of its queue
  MatchNode* bucket_next = nullptr;  // of a head: the next key in this bucket
  void* owner = nullptr;
};

class KeyedQueue {
 public:
  explicit KeyedQueue(memory::Ledger& ledger);
  ~KeyedQueue();
  KeyedQueue(const KeyedQueue&) = delete;
  KeyedQueue& operator=(const KeyedQueue&) = delete;

  void push_back(MatchNode& node);
  /// The oldest node under KEY, or null.
  [[nodiscard]] MatchNode* front(const MatchKey& key) const {
    if (size_ == 0) return nullptr;
    MatchNode* head = buckets_[key.hash() & mask_];
    while (head != nullptr && !(head->key == key)) head = head->bucket_next;
    return head;
  }
  void erase(MatchNode& node);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void grow();
  MatchNode** link_to_head(MatchNode& head);

  memory::Ledger& ledger_;
  std::unique_ptr<MatchNode*[]> buckets_;
  std::size_t mask_;
  std::size_t keys_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hawser::p2p
