// Counters of the fast path: plain numbers, incremented under the lane lock.
//
// Ownership: members of the object that they count for. Threads: none of their own; a statistics
// snapshot is taken under the lane lock too.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hawser::base {

/// What went through one channel in one direction.
struct ChannelCounters {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t message_bytes) {
    ++messages;
    bytes += message_bytes;
  }
  void add(const ChannelCounters& others) {
    messages += others.messages;
    bytes += others.bytes;
  }
};
static_assert(sizeof(ChannelCounters) == 16);

/// How many messages there were of which size. Bin 0 holds the empty ones, bin b the sizes from
/// 2^(b-1) to 2^b - 1: 1, 2-3, 4-7, …
class SizeHistogram {
 public:
  static constexpr std::size_t bin_count = 65;

  static constexpr std::size_t bin_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(bytes));
  }
  static constexpr std::uint64_t first_of_bin(std::size_t bin) {
    return bin == 0 ? 0 : std::uint64_t{1} << (bin - 1);
  }
  static constexpr std::uint64_t last_of_bin(std::size_t bin) {
    return bin == 0 ? 0 : first_of_bin(bin) + (first_of_bin(bin) - 1);
  }

  void add(std::uint64_t message_bytes) { ++messages_[bin_of(message_bytes)]; }
  /// MESSAGES messages of MESSAGE_BYTES each.
  void add_many(std::uint64_t message_bytes, std::uint64_t messages) {
    messages_[bin_of(message_bytes)] += messages;
  }
  [[nodiscard]] std::uint64_t messages(std::size_t bin) const { return messages_[bin]; }

 private:
  std::array<std::uint64_t, bin_count> messages_{};
};

}  // namespace hawser::base
