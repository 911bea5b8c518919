// Exact: arithmetic on counts that remembers an overflow instead of wrapping silently.
//
// Purpose: a constructor computes all its bounds with one Exact and asks once, at the end.
// Threads: a value on the stack of one call.
#pragma once

#include "base/ids.hpp"

namespace hawser::core {

class Exact {
 public:
  using Count = base::Count;

  Count add(Count a, Count b) {
    Count sum = 0;
    overflowed_ |= __builtin_add_overflow(a, b, &sum);
    return sum;
  }
  Count subtract(Count a, Count b) {
    Count difference = 0;
    overflowed_ |= __builtin_sub_overflow(a, b, &difference);
    return difference;
  }
  Count multiply(Count a, Count b) {
    Count product = 0;
    overflowed_ |= __builtin_mul_overflow(a, b, &product);
    return product;
  }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  bool overflowed_ = false;
};

}  // namespace hawser::core
