// FrameCopies: copies of the frames that left by channels which don't keep them, until they are
// acknowledged.
//
// Ownership: one per endpoint with an Assurance; owns the copies.
// Threads:   the lane lock.
// Bounds:    as many as the send window holds; charged to the ledger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>

#include "memory/ledger/ledger.hpp"

namespace hawser::channel {

class FrameCopies {
 public:
  explicit FrameCopies(memory::Ledger& ledger) : ledger_(ledger) {}
  ~FrameCopies() {
    if (!copies_) return;
    for (const auto& [at, copy] : *copies_) refund(copy.bytes);
  }
  FrameCopies(const FrameCopies&) = delete;
  FrameCopies& operator=(const FrameCopies&) = delete;

  [[nodiscard]] bool is_empty() const { return !copies_ || copies_->empty(); }
  /// A copy of FRAME, until it is dropped.
  std::byte* keep(std::span<const std::byte> frame) {
    auto memory = std::make_unique_for_overwrite<std::byte[]>(frame.size());
    std::byte* const at = memory.get();
    std::ranges::copy(frame, at);
    ledger_.charge(memory::Account::kept_frames, frame.size());
    if (!copies_) copies_ = std::make_unique<Copies>();
    copies_->emplace(at, Copy{std::move(memory), frame.size()});
    return at;
  }
  void drop(const std::byte* copy) {
    if (!copies_) return;
    const auto found = copies_->find(copy);
    if (found == copies_->end()) return;
    refund(found->second.bytes);
    copies_->erase(found);
  }

 private:
  struct Copy {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes;
  };
  using Copies = std::unordered_map<const std::byte*, Copy>;

  void refund(std::size_t bytes) { ledger_.refund(memory::Account::kept_frames, bytes); }

  memory::Ledger& ledger_;
  std::unique_ptr<Copies> copies_;  // null until there is one: most peers never need any
};

}  // namespace hawser::channel
