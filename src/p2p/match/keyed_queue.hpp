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

  friend bool operator==(const MatchKey& a, const MatchKey& b) {
    // Without branches: it is either equal or seldom known where it differs.
    return ((a.context ^ b.context) | static_cast<std::uint32_t>(a.source ^ b.source) |
            static_cast<std::uint32_t>(a.tag ^ b.tag)) == 0;
  }
  [[nodiscard]] std::uint32_t hash() const {
    // Two multiplications by odd constants and one to finish: runs of tags or sources, which are
    // the usual keys, spread evenly.
    const std::uint64_t low =
        (static_cast<std::uint64_t>(context) << 32) | static_cast<std::uint32_t>(source);
    std::uint64_t mixed =
        low * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(tag) * 0xd6e8feb86659fd93ULL;
    mixed = (mixed ^ (mixed >> 32)) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
};

struct MatchNode {
  MatchKey key;
  std::uint32_t hash = 0;            // of the key, while queued
  std::uint64_t order = 0;           // of posting or arrival
  MatchNode* next = nullptr;         // same key
  MatchNode* previous = nullptr;     // same key; null: this is the head
  MatchNode* last = nullptr;         // of a head: the end of its queue
  MatchNode* bucket_next = nullptr;  // of a head: the next key in this bucket
  void* owner = nullptr;             // the queue makes no use of it

  /// One by one: the caller has just stored its parts, and a longer load would wait until they have
  /// left the store buffer.
  void set_key(const MatchKey& to) {
    key.context = to.context;
    key.source = to.source;
    key.tag = to.tag;
  }
};

class KeyedQueue {
 public:
  explicit KeyedQueue(memory::Ledger& ledger);
  ~KeyedQueue();
  KeyedQueue(const KeyedQueue&) = delete;
  KeyedQueue& operator=(const KeyedQueue&) = delete;

  void push_back(MatchNode& node) {
    node.next = nullptr;
    ++size_;
    if (newest_ != nullptr && newest_->key == node.key) {
      node.hash = newest_->hash;
      append(**newest_link_, node);
    } else {
      push_back_by_hash(node);
    }
    newest_ = &node;
  }
  /// The oldest node under KEY, or null.
  [[nodiscard]] MatchNode* front(const MatchKey& key) const {
    return size_ == 0 ? nullptr : *link_of(key, key.hash());
  }
  /// The same, taken out.
  MatchNode* take_front(const MatchKey& key) {
    if (size_ == 0) return nullptr;
    // Who waits for messages of one kind posts receives and takes them out: their hash is known.
    const bool is_newest = newest_ != nullptr && newest_->key == key;
    MatchNode** const link = is_newest ? newest_link_ : link_of(key, key.hash());
    MatchNode* const head = *link;
    if (head == nullptr) return nullptr;
    --size_;
    if (!is_newest) leave_chain(link, *head);
    unlink_head(link, *head);
    return head;
  }
  void erase(MatchNode& node);
  /// In no order. VISIT(MatchNode&) may not change the queue.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t bucket = 0; size_ > 0 && bucket <= mask_; ++bucket)
      for (MatchNode* head = buckets_[bucket]; head != nullptr; head = head->bucket_next)
        for (MatchNode* node = head; node != nullptr; node = node->next) visit(*node);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// The link that holds KEY's head, or the null at the end of its bucket.
  [[nodiscard]] MatchNode** link_of(const MatchKey& key, std::uint32_t hash) const {
    MatchNode** link = &buckets_[hash & mask_];
    while (*link != nullptr && !((*link)->key == key)) link = &(*link)->bucket_next;
    return link;
  }
  /// The link that holds HEAD.
  [[nodiscard]] MatchNode** link_to(const MatchNode& head) const {
    MatchNode** link = &buckets_[head.hash & mask_];
    while (*link != &head) link = &(*link)->bucket_next;
    return link;
  }
  void push_back_by_hash(MatchNode& node);
  /// To the queue of HEAD.
  static void append(MatchNode& head, MatchNode& node) {
    node.previous = head.last;
    head.last->next = &node;
    head.last = &node;
  }
  void grow();
  /// HEAD, to which *LINK points, leaves: it may hold the link to the head after it.
  void leave_chain(MatchNode** link, MatchNode& head) {
    if (newest_link_ == &head.bucket_next)
      newest_link_ = head.next == nullptr ? link : &head.next->bucket_next;
  }
  /// *LINK points to HEAD; the next node of its key, if there is one, becomes the head.
  void unlink_head(MatchNode** link, MatchNode& head) {
    forget(head);
    if (head.next == nullptr) {
      *link = head.bucket_next;
      --keys_;
      return;
    }
    MatchNode& heir = *head.next;
    heir.previous = nullptr;
    heir.last = head.last;
    heir.bucket_next = head.bucket_next;
    *link = &heir;
  }

  void forget(const MatchNode& node) {
    if (newest_ == &node) newest_ = nullptr;
  }

  memory::Ledger& ledger_;
  std::unique_ptr<MatchNode*[]> buckets_;
  const MatchNode* newest_ = nullptr;  // the last one that was pushed, while it is queued
  MatchNode** newest_link_ = nullptr;  // to the head of its key; means nothing without it
  std::size_t mask_;
  std::size_t keys_ = 0;
  std::size_t size_ = 0;
};

}  // namespace hawser::p2p
