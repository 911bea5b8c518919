// Random: numbers that follow from a seed alone (xoshiro256**, seeded by splitmix64).
//
// Every user draws from a stream of its own, so that a change in how one of them draws leaves the
// others as they were.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace hawser::sim {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t x = base::mix64(seed) ^ base::mix64(~stream);
    for (std::uint64_t& word : state_) word = x = base::mix64(x);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// In [0, BOUND); 0 for a bound of 0. Its bias is far below what a simulation could notice.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  /// In [first, last].
  template <class T>
  T between(T first, T last) {
    return static_cast<T>(first +
                          static_cast<T>(below(static_cast<std::uint64_t>(last - first) + 1)));
  }
  /// True once in N times; never for 0.
  bool one_in(std::uint64_t n) { return n != 0 && below(n) == 0; }
  template <class Container>
  auto& pick(Container& from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace hawser::sim
