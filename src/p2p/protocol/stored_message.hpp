// StoredMessage: a message that came before its receive, and StoredMessages, where those come from
// and go to.
//
// A short eager one has all that matters in two cache lines: ten thousand of them, received in any
// order, miss the cache twice each.
//
// Ownership: who takes a message gives it back, or deletes it.
// Charged:   by the backend while a message waits; what the pool keeps, by the pool (requests).
// Bounds:    the pool keeps kept_max messages. Threads: the lane lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/cache_line.hpp"
#include "channel/endpoint/endpoint.hpp"
#include "memory/ledger/ledger.hpp"
#include "p2p/match/match_engine.hpp"
#include "p2p/protocol/wire.hpp"

namespace hawser::p2p {

struct alignas(base::cache_line_bytes) StoredMessage : UnexpectedMessage {
  channel::Endpoint* from = nullptr;
  wire::FrameClass frame_class = wire::FrameClass::eager;

  /// PAYLOAD is what has come of the message; MORE bytes are to follow.
  void keep(std::span<const std::byte> payload, std::size_t more) {
    is_brief_ = more == 0 && payload.size() <= brief_.size();
    if (is_brief_) {
      brief_bytes_ = static_cast<std::uint8_t>(payload.size());
      if (!payload.empty()) std::memcpy(brief_.data(), payload.data(), payload.size());
      return;
    }
    long_.reserve(payload.size() + more);
    long_.assign(payload.begin(), payload.end());
  }
  /// One of which more was to follow grows.
  void append(std::span<const std::byte> payload) {
    long_.insert(long_.end(), payload.begin(), payload.end());
  }
  [[nodiscard]] std::span<const std::byte> payload() const {
    return is_brief_ ? std::span(brief_).first(brief_bytes_) : std::span<const std::byte>(long_);
  }
  /// Of the whole message.
  [[nodiscard]] std::uint64_t total_bytes() const {
    return frame_class == wire::FrameClass::eager ? payload().size() : rendezvous.total;
  }
  /// Of memory.
  [[nodiscard]] std::size_t kept_bytes() const {
    return sizeof(StoredMessage) + (is_brief_ ? 0 : long_.size());
  }
  void clear() {
    wildcard_nodes.reset();
    if (!is_brief_) std::vector<std::byte>().swap(long_);
  }

 private:
  bool is_brief_ = true;
  std::uint8_t brief_bytes_ = 0;
  std::array<std::byte, 29> brief_;  // what is left of two lines

 public:
  // From here on: what a short eager message does not touch.
  alignas(base::cache_line_bytes) wire::RendezvousHeader rendezvous;  // of one that is not eager

 private:
  std::vector<std::byte> long_;
};
static_assert(sizeof(StoredMessage) == (2 + 2) * std::size_t{64});

class StoredMessages {
 public:
  static constexpr std::size_t kept_max = 16384;

  explicit StoredMessages(memory::Ledger& ledger) : ledger_(ledger) {}
  ~StoredMessages() {
    ledger_.refund(memory::Account::requests, kept_.size() * sizeof(StoredMessage));
  }
  StoredMessages(const StoredMessages&) = delete;
  StoredMessages& operator=(const StoredMessages&) = delete;

  [[nodiscard]] std::unique_ptr<StoredMessage> take() {
    if (kept_.empty()) return std::make_unique<StoredMessage>();
    std::unique_ptr<StoredMessage> message = std::move(kept_.back());
    kept_.pop_back();
    ledger_.refund(memory::Account::requests, sizeof(StoredMessage));
    return message;
  }
  void give_back(std::unique_ptr<StoredMessage> message) {
    if (kept_.size() == kept_max) return;
    message->clear();
    kept_.push_back(std::move(message));
    ledger_.charge(memory::Account::requests, sizeof(StoredMessage));
  }

 private:
  memory::Ledger& ledger_;
  std::vector<std::unique_ptr<StoredMessage>> kept_;
};

}  // namespace hawser::p2p
