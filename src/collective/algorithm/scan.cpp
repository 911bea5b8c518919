#include "collective/algorithm/scan.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {

template <class Executor>
void scan_linear(Executor ex, const ScanArguments& a) {
  const Buffer result{a.receive, a.count, a.type};
  if (!a.in_place) ex.copy({a.send, a.count, a.type}, result);
  if (ex.rank() > 0) {
    void* const below = temporary_items(ex, a.count, *a.type);
    ex.recv({below, a.count, a.type}, ex.rank() - 1);
    ex.wait();
    ex.reduce(below, a.receive, a.count, *a.type, *a.op);
  }
  if (ex.rank() + 1 < ex.size()) ex.send(to_const(result), ex.rank() + 1);
  ex.wait();
}

template <class Executor>
void exscan_linear(Executor ex, const ExscanArguments& a) {
  const int me = ex.rank();
  const bool has_next = me + 1 < ex.size();
  const ConstBuffer mine{a.in_place ? a.receive : a.send, a.count, a.type};
  if (me == 0) {
    if (has_next) ex.send(mine, 1);
    return ex.wait();
  }
  // What the next rank needs is computed before the own items may be overwritten.
  const Buffer below{has_next ? temporary_items(ex, a.count, *a.type) : a.receive, a.count, a.type};
  ex.recv(below, me - 1);
  ex.wait();
  if (!has_next) return;
  const Buffer through{temporary_items(ex, a.count, *a.type), a.count, a.type};
  ex.copy(mine, through);
  ex.reduce(below.data, through.data, a.count, *a.type, *a.op);
  ex.send(to_const(through), me + 1);
  ex.copy(to_const(below), {a.receive, a.count, a.type});
  ex.wait();
}

// Before the round of a distance, a rank's sum covers itself and the distance-1 ranks below it.
template <class Executor>
void scan_recursive_doubling(Executor ex, const ScanArguments& a) {
  const int me = ex.rank();
  const Buffer sum{a.receive, a.count, a.type};
  if (!a.in_place) ex.copy({a.send, a.count, a.type}, sum);
  void* const below = me > 0 ? temporary_items(ex, a.count, *a.type) : nullptr;
  for (int distance = 1; distance < ex.size(); distance *= 2) {
    if (me >= distance) ex.recv({below, a.count, a.type}, me - distance);
    if (me + distance < ex.size()) ex.send(to_const(sum), me + distance);
    ex.wait();
    if (me >= distance) ex.reduce(below, a.receive, a.count, *a.type, *a.op);
  }
}

// The same; the result leaves the own items out, and begins with what the first round brings.
template <class Executor>
void exscan_recursive_doubling(Executor ex, const ExscanArguments& a) {
  const int me = ex.rank();
  const Buffer sum{temporary_items(ex, a.count, *a.type), a.count, a.type};
  void* const below = me > 0 ? temporary_items(ex, a.count, *a.type) : nullptr;
  ex.copy({a.in_place ? a.receive : a.send, a.count, a.type}, sum);
  for (int distance = 1; distance < ex.size(); distance *= 2) {
    if (me >= distance) ex.recv({below, a.count, a.type}, me - distance);
    if (me + distance < ex.size()) ex.send(to_const(sum), me + distance);
    ex.wait();
    if (me < distance) continue;
    if (distance == 1) {
      ex.copy({below, a.count, a.type}, {a.receive, a.count, a.type});
    } else {
      ex.reduce(below, a.receive, a.count, *a.type, *a.op);
    }
    ex.reduce(below, sum.data, a.count, *a.type, *a.op);
  }
}

HAWSER_INSTANTIATE(scan_linear, ScanArguments)
HAWSER_INSTANTIATE(scan_recursive_doubling, ScanArguments)
HAWSER_INSTANTIATE(exscan_linear, ExscanArguments)
HAWSER_INSTANTIATE(exscan_recursive_doubling, ExscanArguments)

}  // namespace hawser::collective
