#include "collective/algorithm/reduce_scatter.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/fold.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/reduce.hpp"
#include "collective/algorithm/scatter.hpp"

namespace hawser::collective {

std::vector<Count> begins_of(const ReduceScatterArguments& a, int ranks) {
  std::vector<Count> begins(static_cast<std::size_t>(ranks) + 1, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    begins[i + 1] = begins[i] + a.counts[rank];
  }
  return begins;
}

namespace {

const void* input(const ReduceScatterArguments& a) { return a.in_place ? a.receive : a.send; }

template <class Executor>
void reduce_then_scatter(Executor ex, const ReduceScatterArguments& a,
                         void (*reduce)(Executor, const ReduceArguments&)) {
  const std::vector<Count> begins = begins_of(a, ex.size());
  const Count total = begins.back();
  void* const sum = ex.rank() == 0 ? temporary_items(ex, total, *a.type) : nullptr;
  reduce(ex, {.send = input(a), .receive = sum, .count = total, .type = a.type, .op = a.op});
  scatterv_linear(ex, ScattervArguments{.send = {sum, 0, a.type},
                                        .counts = a.counts,
                                        .displacements = {begins.data(), true},
                                        .receive = {a.receive, a.counts[ex.rank()], a.type},
                                        .root = 0});
}

}  // namespace

template <class Executor>
void reduce_scatter_linear(Executor ex, const ReduceScatterArguments& a) {
  reduce_then_scatter(ex, a, &reduce_linear<Executor>);
}

template <class Executor>
void reduce_scatter_reduce_scatterv(Executor ex, const ReduceScatterArguments& a) {
  reduce_then_scatter(ex, a, &reduce_binomial<Executor>);
}

// Blocks arrive from me-1 down to 0, then from n-1 down to me+1. The first run is combined in front
// of the own items (`low`), the second by itself (`high`); low op high is the result.
template <class Executor>
void reduce_scatter_pairwise(Executor ex, const ReduceScatterArguments& a) {
  const int n = ex.size();
  const int me = ex.rank();
  Datatype& type = *a.type;
  const Count mine = a.counts[me];
  const std::vector<Count> begins = begins_of(a, n);
  const auto block = [&](int rank) {
    return ConstBuffer{item(input(a), begins[static_cast<std::size_t>(rank)], type), a.counts[rank],
                       &type};
  };
  void* const low = temporary_items(ex, mine, type);
  void* const high = temporary_items(ex, mine, type);
  void* const arrived = temporary_items(ex, mine, type);
  if (mine > 0) ex.copy(block(me), {low, mine, &type});
  for (int step = 1; step < n; ++step) {
    const int source = (me - step + n) % n;
    const int target = (me + step) % n;
    void* const place = source == n - 1 ? high : arrived;
    if (mine > 0) ex.recv({place, mine, &type}, source);
    if (block(target).count > 0) ex.send(block(target), target);
    ex.wait();
    if (place == arrived) ex.reduce(arrived, source < me ? low : high, mine, type, *a.op);
  }
  if (mine == 0) return;
  if (me < n - 1) ex.reduce(low, high, mine, type, *a.op);
  ex.copy({me < n - 1 ? high : low, mine, &type}, {a.receive, mine, &type});
}

template <class Executor>
void reduce_scatter_recursive_halving(Executor ex, const ReduceScatterArguments& a) {
  Datatype& type = *a.type;
  const Fold fold(ex.size());
  const std::vector<Count> begins = begins_of(a, ex.size());
  const Count total = begins.back();
  void* const sum = temporary_items(ex, total, type);
  void* const arrived = temporary_items(ex, total, type);
  // The items that the numbers [first, last) will own.
  const auto items = [&](void* base, int first, int last) {
    const Count begin = begins[static_cast<std::size_t>(fold.first_rank(first))];
    const Count end = begins[static_cast<std::size_t>(fold.first_rank(last))];
    return Buffer{item(base, begin, type), end - begin, &type};
  };

  ex.copy({input(a), total, &type}, {sum, total, &type});
  fold_in(ex, fold, sum, arrived, total, a);
  if (!fold.sits_out(ex.rank())) {
    const int me = fold.number(ex.rank());
    int first = 0;
    for (int half = fold.numbers / 2; half > 0; half /= 2) {
      const int given = me & half ? first : first + half;
      if (me & half) first += half;
      const Buffer in = items(arrived, first, first + half);
      const Buffer out = items(sum, given, given + half);
      if (in.count > 0) ex.recv(in, fold.rank(me ^ half));
      if (out.count > 0) ex.send(to_const(out), fold.rank(me ^ half));
      ex.wait();
      ex.reduce(in.data, items(sum, first, first + half).data, in.count, type, *a.op);
    }
  }

  const auto owned = [&](void* base, int rank) {
    return Buffer{item(base, begins[static_cast<std::size_t>(rank)], type), a.counts[rank], &type};
  };
  const Count mine = a.counts[ex.rank()];
  if (fold.sits_out(ex.rank())) {
    if (mine > 0) ex.recv({a.receive, mine, &type}, ex.rank() + 1);
  } else {
    if (fold.stands_for_two(ex.rank())) {
      const Buffer theirs = owned(sum, ex.rank() - 1);
      if (theirs.count > 0) ex.send(to_const(theirs), ex.rank() - 1);
    }
    if (mine > 0) ex.copy(to_const(owned(sum, ex.rank())), {a.receive, mine, &type});
  }
  ex.wait();
}

HAWSER_INSTANTIATE(reduce_scatter_linear, ReduceScatterArguments)
HAWSER_INSTANTIATE(reduce_scatter_reduce_scatterv, ReduceScatterArguments)
HAWSER_INSTANTIATE(reduce_scatter_pairwise, ReduceScatterArguments)
HAWSER_INSTANTIATE(reduce_scatter_recursive_halving, ReduceScatterArguments)

}  // namespace hawser::collective
