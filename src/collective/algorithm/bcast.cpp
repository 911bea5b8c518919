#include "collective/algorithm/bcast.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {

template <class Executor>
void bcast_linear(Executor ex, const BcastArguments& a) {
  if (ex.rank() != a.root) {
    ex.recv(a.buffer, a.root);
  } else {
    for (int peer = 0; peer < ex.size(); ++peer) {
      if (peer != a.root) ex.send(to_const(a.buffer), peer);
    }
  }
  ex.wait();
}

template <class Executor>
void bcast_binomial(Executor ex, const BcastArguments& a) {
  const Turned turned{a.root, ex.size()};
  const int me = turned.number(ex.rank());
  int bit = 1;  // ends as the lowest set bit of `me`, by which its parent is smaller
  for (; bit < ex.size(); bit *= 2) {
    if (me & bit) {
      ex.recv(a.buffer, turned.rank(me - bit));
      ex.wait();
      break;
    }
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (me + bit < ex.size()) ex.send(to_const(a.buffer), turned.rank(me + bit));
  }
  ex.wait();
}

template <class Executor>
void bcast_pipelined_chain(Executor ex, const BcastArguments& a) {
  constexpr Count segment_bytes = Count{64} * 1024;
  const Turned turned{a.root, ex.size()};
  const int me = turned.number(ex.rank());
  const bool has_previous = me > 0;
  const bool has_next = me + 1 < ex.size();
  Packed data(ex, a.buffer);
  const Count segments = (data.bytes() + segment_bytes - 1) / segment_bytes;
  const auto receive = [&](Count segment) {
    if (!has_previous || segment >= segments) return;
    ex.recv(data.range(segment * segment_bytes, (segment + 1) * segment_bytes),
            turned.rank(me - 1));
  };

  if (!has_previous && has_next) data.load();
  receive(0);
  ex.wait();
  for (Count segment = 0; segment < segments; ++segment) {
    receive(segment + 1);
    if (has_next) {
      ex.send(data.const_range(segment * segment_bytes, (segment + 1) * segment_bytes),
              turned.rank(me + 1));
    }
    ex.wait();
  }
  if (has_previous) data.store();
}

namespace {

// Of n equal blocks, number me gets [me, me + reach) and keeps the first: reach is the lowest set
// bit of `me`.
template <class Executor>
void scatter_blocks(Executor& ex, const Packed<Executor>& data, const Turned& turned, Count block) {
  const int me = turned.number(ex.rank());
  int bit = 1;
  for (; bit < ex.size(); bit *= 2) {
    if (me & bit) {
      const Buffer mine = data.range(me * block, (me + bit) * block);
      if (mine.count > 0) ex.recv(mine, turned.rank(me - bit));
      ex.wait();
      break;
    }
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (me + bit >= ex.size()) continue;
    const ConstBuffer theirs = data.const_range((me + bit) * block, (me + 2 * bit) * block);
    if (theirs.count > 0) ex.send(theirs, turned.rank(me + bit));
  }
  ex.wait();
}

}  // namespace

template <class Executor>
void bcast_scatter_allgather(Executor ex, const BcastArguments& a) {
  const int n = ex.size();
  const Turned turned{a.root, n};
  const int me = turned.number(ex.rank());
  Packed data(ex, a.buffer);
  const Count block = (data.bytes() + n - 1) / n;
  if (me == 0 && n > 1) data.load();
  scatter_blocks(ex, data, turned, block);
  for (int step = 0; step + 1 < n; ++step) {
    const Count out = (me - step + n) % n;
    const Count in = (me - step - 1 + n) % n;
    const ConstBuffer send = data.const_range(out * block, (out + 1) * block);
    // What the tree brought beyond the own block comes again, equal: simpler than leaving it out.
    // But nothing goes to the root, whose buffer may lie in memory that can't be written.
    const Buffer receive = data.range(in * block, (in + 1) * block);
    if (receive.count > 0 && me != 0) ex.recv(receive, turned.rank(me - 1));
    if (send.count > 0 && me != n - 1) ex.send(send, turned.rank(me + 1));
    ex.wait();
  }
  if (me != 0) data.store();
}

HAWSER_INSTANTIATE(bcast_linear, BcastArguments)
HAWSER_INSTANTIATE(bcast_binomial, BcastArguments)
HAWSER_INSTANTIATE(bcast_pipelined_chain, BcastArguments)
HAWSER_INSTANTIATE(bcast_scatter_allgather, BcastArguments)

}  // namespace hawser::collective
