// Members: a set of seats, in shared memory. Who has died stays in it until somebody looks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softrdma::fabric {

/// Processes of one host in one fabric.
inline constexpr std::uint16_t seat_count = 1024;

inline constexpr std::size_t members_per_word = 64;
using Members = std::array<std::atomic<std::uint64_t>, seat_count / members_per_word>;

constexpr std::uint64_t member_bit(std::uint16_t seat) {
  return std::uint64_t{1} << seat % members_per_word;
}
inline void insert(Members& members, std::uint16_t seat) {
  members[seat / members_per_word].fetch_or(member_bit(seat));
}
inline void erase(Members& members, std::uint16_t seat) {
  members[seat / members_per_word].fetch_and(~member_bit(seat));
}
inline void clear(Members& members) {
  for (auto& word : members) word.store(0);
}
[[nodiscard]] inline bool contains(const Members& members, std::uint16_t seat) {
  return (members[seat / members_per_word].load() & member_bit(seat)) != 0;
}

}  // namespace softrdma::fabric
