// Ledger: who owns which bytes of communication memory, now and at most so far.
//
// Charged per chunk (a segment, a ring, a pool's slab, a stored message), never per fast-path
// message (DESIGN §3).
// Threads: counters are relaxed atomics; a snapshot is exact when the process is quiet.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hawser::memory {

enum class Account : std::uint8_t {
  segment,             // our shared-memory segment: header and shared receive queue
  rings,               // rings granted to peers, in our segment
  attachments,         // segments of peers that we have mapped (their memory, our address space)
  endpoints,           // state per peer that we talk to
  requests,            // pools of request objects
  matching,            // posted receives and unexpected headers
  unexpected,          // payload of unexpected messages
  sender_fifo,         // frames that wait for room in a channel
  reorder,             // frames that arrived ahead of their turn
  collective,          // plans and temporaries
  groups,              // groups and communicators
  network_buffers,     // registered with an adapter, for datagrams that it sends and receives
  connection_buffers,  // the same for peers that are connected, and their fast paths
  registered,          // the program's memory that network devices may reach
  kept_frames,         // copies of frames that were sent and may have to be sent again
  count_
};

inline constexpr std::size_t account_count = static_cast<std::size_t>(Account::count_);

/// The account's name as reports print it.
constexpr const char* account_name(Account account) {
  constexpr std::array<const char*, account_count> names = {
      "segment",  "rings",           "attachments",        "endpoints",  "requests",
      "matching", "unexpected",      "sender_fifo",        "reorder",    "collective",
      "groups",   "network_buffers", "connection_buffers", "registered", "kept_frames"};
  return names[static_cast<std::size_t>(account)];
}

class Ledger {
 public:
  void charge(Account account, std::size_t bytes) {
    Entry& entry = entries_[static_cast<std::size_t>(account)];
    entry.charges.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t now =
        entry.current.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed) +
        static_cast<std::int64_t>(bytes);
    std::int64_t peak = entry.peak.load(std::memory_order_relaxed);
    while (now > peak && !entry.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void refund(Account account, std::size_t bytes) {
    entries_[static_cast<std::size_t>(account)].current.fetch_sub(static_cast<std::int64_t>(bytes),
                                                                  std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t current_bytes(Account account) const {
    return entries_[static_cast<std::size_t>(account)].current.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t peak_bytes(Account account) const {
    return entries_[static_cast<std::size_t>(account)].peak.load(std::memory_order_relaxed);
  }
  /// How often ACCOUNT was charged.
  [[nodiscard]] std::uint64_t charges(Account account) const {
    return entries_[static_cast<std::size_t>(account)].charges.load(std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<std::int64_t> current{0};
    std::atomic<std::int64_t> peak{0};
    std::atomic<std::uint64_t> charges{0};
  };
  std::array<Entry, account_count> entries_;
};

}  // namespace hawser::memory
