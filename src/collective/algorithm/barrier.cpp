#include "collective/algorithm/barrier.hpp"

#include "collective/algorithm/buffers.hpp"
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
HAWSER_INSTANTIATE(barrier_linear, BarrierArguments)

}  // namespace hawser::collective
