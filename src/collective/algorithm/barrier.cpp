#include "collective/algorithm/barrier.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/fold.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {

template <class Executor>
void barrier_dissemination(Executor ex, const BarrierArguments&) {
  const int n = ex.size();
  for (int distance = 1; distance < n; distance *= 2) {
    ex.recv(nowhere(), (ex.rank() - distance + n) % n);
    ex.send(nothing(), (ex.rank() + distance) % n);
    ex.wait();
  }
}

template <class Executor>
void barrier_recursive_doubling(Executor ex, const BarrierArguments&) {
  const Fold fold(ex.size());
  const int me = ex.rank();
  if (fold.sits_out(me)) {
    ex.send(nothing(), me + 1);
    ex.recv(nowhere(), me + 1);
    ex.wait();
    return;
  }
  if (fold.stands_for_two(me)) {
    ex.recv(nowhere(), me - 1);
    ex.wait();
  }
  for (int bit = 1; bit < fold.numbers; bit *= 2) {
    const int partner = fold.rank(fold.number(me) ^ bit);
    ex.recv(nowhere(), partner);
    ex.send(nothing(), partner);
    ex.wait();
  }
  if (fold.stands_for_two(me)) ex.send(nothing(), me - 1);
  ex.wait();
}

template <class Executor>
void barrier_linear(Executor ex, const BarrierArguments&) {
  if (ex.rank() != 0) {
    ex.recv(nowhere(), 0);
    ex.send(nothing(), 0);
  } else {
    for (int peer = 1; peer < ex.size(); ++peer) ex.recv(nowhere(), peer);
    ex.wait();
    for (int peer = 1; peer < ex.size(); ++peer) ex.send(nothing(), peer);
  }
  ex.wait();
}

HAWSER_INSTANTIATE(barrier_dissemination, BarrierArguments)
HAWSER_INSTANTIATE(barrier_recursive_doubling, BarrierArguments)
HAWSER_INSTANTIATE(barrier_linear, BarrierArguments)

}  // namespace hawser::collective
