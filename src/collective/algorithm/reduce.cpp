#include "collective/algorithm/reduce.hpp"

#include <utility>
#include <vector>

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {
namespace {

ConstBuffer own(const ReduceArguments& a) {
  return {a.in_place ? a.receive : a.send, a.count, a.type};
}

}  // namespace

template <class Executor>
void reduce_linear(Executor ex, const ReduceArguments& a) {
  if (ex.rank() != a.root) {
    ex.send(own(a), a.root);
    return ex.wait();
  }
  // The last rank's items come to where the result is accumulated: the receive buffer, unless the
  // root's own items stand there and are needed first.
  const int last = ex.size() - 1;
  const bool beside = a.in_place && a.root != last;
  void* const result = beside ? temporary_items(ex, a.count, *a.type) : a.receive;
  std::vector<const void*> items(static_cast<std::size_t>(ex.size()));
  for (int peer = 0; peer <= last; ++peer) {
    if (peer == a.root) {
      items[static_cast<std::size_t>(peer)] = own(a).data;
      if (peer == last && !a.in_place) ex.copy(own(a), {result, a.count, a.type});
    } else {
      void* const place = peer == last ? result : temporary_items(ex, a.count, *a.type);
      items[static_cast<std::size_t>(peer)] = place;
      ex.recv({place, a.count, a.type}, peer);
    }
  }
  ex.wait();
  for (int peer = last - 1; peer >= 0; --peer) {
    ex.reduce(items[static_cast<std::size_t>(peer)], result, a.count, *a.type, *a.op);
  }
  if (beside) ex.copy({result, a.count, a.type}, {a.receive, a.count, a.type});
}

template <class Executor>
void reduce_binomial(Executor ex, const ReduceArguments& a) {
  const Turned turned{a.op->is_commutative() ? a.root : 0, ex.size()};
  const int me = turned.number(ex.rank());
  // `result` covers the numbers [me, me + bit). The right neighbour's half is received into one of
  // two places and, as the right operand, becomes the result; the other place is free then.
  const void* result = own(a).data;
  void* place = nullptr;
  void* other_place = nullptr;
  for (int bit = 1; bit < ex.size(); bit *= 2) {
    if (me & bit) {
      ex.send({result, a.count, a.type}, turned.rank(me - bit));
      ex.wait();
      break;
    }
    if (me + bit >= ex.size()) continue;
    if (place == nullptr) place = temporary_items(ex, a.count, *a.type);
    ex.recv({place, a.count, a.type}, turned.rank(me + bit));
    ex.wait();
    ex.reduce(result, place, a.count, *a.type, *a.op);
    result = place;
    std::swap(place, other_place);
  }
  if (turned.root != a.root) {
    if (me == 0) ex.send({result, a.count, a.type}, a.root);
    if (ex.rank() == a.root) ex.recv({a.receive, a.count, a.type}, turned.root);
    ex.wait();
  } else if (me == 0 && result != a.receive) {
    ex.copy({result, a.count, a.type}, {a.receive, a.count, a.type});
  }
}

HAWSER_INSTANTIATE(reduce_linear, ReduceArguments)
HAWSER_INSTANTIATE(reduce_binomial, ReduceArguments)

}  // namespace hawser::collective
