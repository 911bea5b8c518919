// MatchEngine: the one matching engine of host-side point-to-point (MPI-5.0 §3.5).
//
// Posted receives lie in four keyed queues, one per pattern of wildcards; an arriving message looks
// into those that are not empty and takes the receive that was posted first. Unexpected messages
// are indexed by their full key; an index for a pattern of wildcards is built when the first
// receive or probe of that pattern misses, and kept from then on. So every step takes constant
// expected time, whatever the depth of the queues, and wildcards keep MPI's order.
//
// Ownership: intrusive; borrows receives and messages. Threads: the lane lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "p2p/backend.hpp"
#include "p2p/match/keyed_queue.hpp"

namespace hawser::p2p {

/// A receive that waits for its message; a base of receive requests.
struct PostedReceive {
  MatchNode node;  // first: it leads to the receive
};

/// A message that waits for its receive; a base of whatever keeps its data.
struct UnexpectedMessage {
  MatchNode node;  // in the index by full key
  /// In the indices of wildcard patterns (1 to 3); made only where such an index exists.
  std::unique_ptr<std::array<MatchNode, 3>> wildcard_nodes;
  UnexpectedMessage* older = nullptr;
  UnexpectedMessage* younger = nullptr;
};

class MatchEngine {
 public:
  explicit MatchEngine(memory::Ledger& ledger);

  /// A receive for KEY (which may have wildcards) that found no unexpected message.
  [[gnu::always_inline]] void post(PostedReceive& receive, const MatchKey& key) {
    receive.node.set_key(key);
    receive.node.order = next_order_++;
    if (pattern_of(key) == 0) [[likely]] {
      posted_[0].push_back(receive.node);
    } else {
      post_with_wildcards(receive);
    }
  }
  void cancel(PostedReceive& receive);
  /// In no order. VISIT(PostedReceive&) may not change the engine.
  template <class Visit>
  void for_each_posted(Visit&& visit) const {
    for (const KeyedQueue& queue : posted_)
      queue.for_each([&](MatchNode& node) { visit(*receive_of(&node)); });
  }
  /// Takes out the receive that a message under KEY matches; null if there is none.
  PostedReceive* match_arrival(const MatchKey& key) {
    if (wildcards_ != 0) [[unlikely]] {
      const MatchKey copy = key;  // so that the caller's stays in registers
      return match_with_wildcards(copy);
    }
    return receive_of(posted_[0].take_front(key));
  }

  /// In the order of their arrival. VISIT(UnexpectedMessage&) may not change the engine.
  template <class Visit>
  void for_each_unexpected(Visit&& visit) const {
    for (UnexpectedMessage* message = oldest_; message != nullptr; message = message->younger)
      visit(*message);
  }

  void store(UnexpectedMessage& message, const MatchKey& key);
  /// The oldest unexpected message that KEY (which may have wildcards) matches, or null.
  UnexpectedMessage* find_unexpected(const MatchKey& key) {
    if (oldest_ == nullptr) return nullptr;
    const MatchKey copy = key;  // so that the caller's stays in registers
    return look_up_unexpected(copy);
  }
  void remove(UnexpectedMessage& message);

  /// The message that has waited longest, or null.
  [[nodiscard]] UnexpectedMessage* oldest() const { return oldest_; }
  [[nodiscard]] std::size_t posted_count() const { return posted_[0].size() + wildcards_; }
  [[nodiscard]] std::size_t unexpected_count() const { return unexpected_[0].size(); }

 private:
  static constexpr unsigned pattern_count = 4;
  /// Null of null.
  static PostedReceive* receive_of(MatchNode* node) {
    static_assert(std::is_standard_layout_v<PostedReceive>);
    return reinterpret_cast<PostedReceive*>(node);
  }
  /// Bit 0: any source, bit 1: any tag.
  static unsigned pattern_of(const MatchKey& key) {
    return (key.source == any_source ? 1U : 0U) | (key.tag == any_tag ? 2U : 0U);
  }
  void post_with_wildcards(PostedReceive& receive);
  PostedReceive* match_with_wildcards(const MatchKey& key);
  UnexpectedMessage* look_up_unexpected(const MatchKey& key);
  void index_pattern(unsigned pattern);
  void add_to_index(UnexpectedMessage& message, unsigned pattern);

  std::array<KeyedQueue, pattern_count> posted_;
  std::array<KeyedQueue, pattern_count> unexpected_;
  std::array<bool, pattern_count> indexed_{true, false, false, false};
  UnexpectedMessage* oldest_ = nullptr;
  UnexpectedMessage* youngest_ = nullptr;
  std::size_t wildcards_ = 0;  // posted receives that have some
  std::uint64_t next_order_ = 0;
};

}  // namespace hawser::p2p
