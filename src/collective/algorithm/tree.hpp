// Binomial trees over the numbers [0, n): the parent of a number is the number without its lowest
// set bit; its subtree is the run of numbers that begins with it.
#pragma once

#include <algorithm>

namespace hawser::collective {

constexpr int lowest_bit(int number) { return number & -number; }

/// Of a NUMBER above 0.
constexpr int parent(int number) { return number - lowest_bit(number); }

/// How many numbers stand in the subtree of NUMBER, itself included.
constexpr int subtree_size(int number, int n) {
  return number == 0 ? n : std::min(lowest_bit(number), n - number);
}

/// The largest power of two that is at most N (N > 0).
constexpr int power_of_two_below(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

}  // namespace hawser::collective
