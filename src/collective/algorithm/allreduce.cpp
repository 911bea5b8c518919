#include "collective/algorithm/allreduce.hpp"

#include <utility>

#include "collective/algorithm/bcast.hpp"
#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/fold.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/reduce.hpp"

namespace hawser::collective {
namespace {

// The reduction to rank 0 that an allreduce begins with.
ReduceArguments to_rank_0(const AllreduceArguments& a, int rank) {
  return {.send = a.in_place ? a.receive : a.send,
          .receive = a.receive,
          .count = a.count,
          .type = a.type,
          .op = a.op,
          .root = 0,
          .in_place = a.in_place && rank == 0};
}

Buffer whole(const AllreduceArguments& a) { return {a.receive, a.count, a.type}; }

template <class Executor>
void begin_in_receive_buffer(Executor& ex, const AllreduceArguments& a) {
  if (!a.in_place) ex.copy({a.send, a.count, a.type}, whole(a));
}

}  // namespace

template <class Executor>
void allreduce_linear(Executor ex, const AllreduceArguments& a) {
  reduce_linear(ex, to_rank_0(a, ex.rank()));
  bcast_linear(ex, BcastArguments{.buffer = whole(a), .root = 0});
}

template <class Executor>
void allreduce_reduce_bcast(Executor ex, const AllreduceArguments& a) {
  reduce_binomial(ex, to_rank_0(a, ex.rank()));
  bcast_binomial(ex, BcastArguments{.buffer = whole(a), .root = 0});
}

template <class Executor>
void allreduce_recursive_doubling(Executor ex, const AllreduceArguments& a) {
  const Fold fold(ex.size());
  begin_in_receive_buffer(ex, a);
  if (ex.size() == 1) return;
  void* result = a.receive;
  void* other = temporary_items(ex, a.count, *a.type);
  fold_in(ex, fold, result, other, a.count, a);
  if (!fold.sits_out(ex.rank())) {
    const int me = fold.number(ex.rank());
    for (int bit = 1; bit < fold.numbers; bit *= 2) {
      const int peer = fold.rank(me ^ bit);
      ex.recv({other, a.count, a.type}, peer);
      ex.send({result, a.count, a.type}, peer);
      ex.wait();
      // The left operand is the lower number's; the sum replaces the right one.
      if (me & bit) {
        ex.reduce(other, result, a.count, *a.type, *a.op);
      } else {
        ex.reduce(result, other, a.count, *a.type, *a.op);
        std::swap(result, other);
      }
    }
    if (result != a.receive) ex.copy({result, a.count, a.type}, whole(a));
  }
  fold_out(ex, fold, a.receive, a.count, a);
}

namespace {

// A run of items of the vector.
struct Range {
  Count begin = 0;
  Count end = 0;
  [[nodiscard]] Count count() const { return end - begin; }
};

// The items of blocks [first, last) when COUNT items are cut into BLOCKS blocks.
Range block_range(Count count, int blocks, int first, int last) {
  // Not count * first / blocks, which could overflow.
  const auto begin_of = [&](int block) {
    return count / blocks * block + std::min<Count>(count % blocks, block);
  };
  return {begin_of(first), begin_of(last)};
}

template <class Executor>
void exchange_ranges(Executor& ex, int peer, const void* from, Range out, void* to, Range in,
                     Datatype& type) {
  if (in.count() > 0) ex.recv({item(to, in.begin, type), in.count(), &type}, peer);
  if (out.count() > 0) ex.send({item(from, out.begin, type), out.count(), &type}, peer);
  ex.wait();
}

// In the round of BIT number ME keeps one half of the blocks it had, its partner the other.
struct Halves {
  Range kept;
  Range given;
};

// Rounds go from bit 1 up, so that partners cover neighbouring runs of ranks.
Halves halves(Count count, int blocks, int me, int bit) {
  int first = 0;
  int length = blocks;
  for (int earlier = 1; earlier <= bit; earlier *= 2) {
    length /= 2;
    if (me & earlier) first += length;
  }
  const int sibling = me & bit ? first - length : first + length;
  return {block_range(count, blocks, first, first + length),
          block_range(count, blocks, sibling, sibling + length)};
}

}  // namespace

template <class Executor>
void allreduce_rabenseifner(Executor ex, const AllreduceArguments& a) {
  const Fold fold(ex.size());
  Datatype& type = *a.type;
  begin_in_receive_buffer(ex, a);
  if (ex.size() == 1) return;
  void* result = a.receive;
  void* other = temporary_items(ex, a.count, type);
  fold_in(ex, fold, result, other, a.count, a);
  if (!fold.sits_out(ex.rank())) {
    const int me = fold.number(ex.rank());
    Range kept{0, a.count};
    for (int bit = 1; bit < fold.numbers; bit *= 2) {
      const Halves now = halves(a.count, fold.numbers, me, bit);
      kept = now.kept;
      exchange_ranges(ex, fold.rank(me ^ bit), result, now.given, other, kept, type);
      if (me & bit) {
        ex.reduce(item(other, kept.begin, type), item(result, kept.begin, type), kept.count(), type,
                  *a.op);
      } else {
        ex.reduce(item(result, kept.begin, type), item(other, kept.begin, type), kept.count(), type,
                  *a.op);
        std::swap(result, other);
      }
    }
    if (result != a.receive && kept.count() > 0) {
      ex.copy({item(result, kept.begin, type), kept.count(), &type},
              {item(a.receive, kept.begin, type), kept.count(), &type});
    }
    for (int bit = fold.numbers / 2; bit > 0; bit /= 2) {
      const Halves then = halves(a.count, fold.numbers, me, bit);
      exchange_ranges(ex, fold.rank(me ^ bit), a.receive, then.kept, a.receive, then.given, type);
    }
  }
  fold_out(ex, fold, a.receive, a.count, a);
}

template <class Executor>
void allreduce_ring(Executor ex, const AllreduceArguments& a) {
  const int n = ex.size();
  const int me = ex.rank();
  Datatype& type = *a.type;
  begin_in_receive_buffer(ex, a);
  if (n == 1) return;
  const auto block = [&](int number) {
    const Range range = block_range(a.count, n, (number + 2 * n) % n, (number + 2 * n) % n + 1);
    return Buffer{item(a.receive, range.begin, type), range.count(), &type};
  };
  const auto pass = [&](const Buffer& out, const Buffer& in) {
    if (in.count > 0) ex.recv(in, (me - 1 + n) % n);
    if (out.count > 0) ex.send(to_const(out), (me + 1) % n);
    ex.wait();
  };
  void* const arrived = temporary_items(ex, block(0).count, type);
  for (int step = 0; step + 1 < n; ++step) {
    const Buffer sum = block(me - step - 1);
    pass(block(me - step), {arrived, sum.count, &type});
    ex.reduce(arrived, sum.data, sum.count, type, *a.op);
  }
  for (int step = 0; step + 1 < n; ++step) pass(block(me + 1 - step), block(me - step));
}

HAWSER_INSTANTIATE(allreduce_linear, AllreduceArguments)
HAWSER_INSTANTIATE(allreduce_reduce_bcast, AllreduceArguments)
HAWSER_INSTANTIATE(allreduce_recursive_doubling, AllreduceArguments)
HAWSER_INSTANTIATE(allreduce_rabenseifner, AllreduceArguments)
HAWSER_INSTANTIATE(allreduce_ring, AllreduceArguments)

}  // namespace hawser::collective
