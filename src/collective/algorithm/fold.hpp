// Fold: brings n ranks down to a power of two, and back, for algorithms that pair ranks by bits.
//
// The last 2*(n - 2^k) ranks are pairs: the first of each hands its items to the one above it and
// sits out; the others get the numbers [0, 2^k) in rank order, so that neighbours stay neighbours.
// Those before the pairs keep their rank as number: they meet the peers that a binomial tree has,
// which saves connections (at 36 ranks 9.8 a process in SP and BT; 10.1 with the first as pairs).
#pragma once

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/tree.hpp"

namespace hawser::collective {

struct Fold {
  int numbers;  // the power of two
  int folded;   // pairs of ranks that share a number
  int single;   // ranks before the pairs

  explicit Fold(int ranks)
      : numbers(power_of_two_below(ranks)), folded(ranks - numbers), single(numbers - folded) {}
  [[nodiscard]] bool sits_out(int rank) const { return rank >= single && (rank - single) % 2 == 0; }
  [[nodiscard]] bool stands_for_two(int rank) const {
    return rank >= single && (rank - single) % 2 == 1;
  }
  /// Of a rank that takes part.
  [[nodiscard]] int number(int rank) const {
    return rank < single ? rank : single + (rank - single) / 2;
  }
  [[nodiscard]] int rank(int number) const {
    return number < single ? number : first_rank(number) + 1;
  }
  /// The first of the one or two ranks that NUMBER stands for; of `numbers`, the number of ranks.
  [[nodiscard]] int first_rank(int number) const {
    return number < single ? number : single + 2 * (number - single);
  }
};

/// Combines the items at `result` of each pair in its second rank's `result`.
template <class Executor, class Arguments>
void fold_in(Executor& ex, const Fold& fold, void* result, void* other, Count count,
             const Arguments& a) {
  if (fold.sits_out(ex.rank())) {
    ex.send({result, count, a.type}, ex.rank() + 1);
    ex.wait();
  } else if (fold.stands_for_two(ex.rank())) {
    ex.recv({other, count, a.type}, ex.rank() - 1);
    ex.wait();
    ex.reduce(other, result, count, *a.type, *a.op);
  }
}

/// Gives the ranks that sat out the result.
template <class Executor, class Arguments>
void fold_out(Executor& ex, const Fold& fold, void* result, Count count, const Arguments& a) {
  if (fold.sits_out(ex.rank())) {
    ex.recv({result, count, a.type}, ex.rank() + 1);
  } else if (fold.stands_for_two(ex.rank())) {
    ex.send({result, count, a.type}, ex.rank() - 1);
  }
  ex.wait();
}

}  // namespace hawser::collective
