#include "collective/algorithm/inter.hpp"

#include <vector>

#include "collective/algorithm/bcast.hpp"
#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/exchange.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/reduce.hpp"
#include "collective/algorithm/scatter.hpp"

namespace hawser::collective {
namespace {

template <class Executor>
int remote_size(const Executor& ex) {
  return ex.comm().peer_count();
}

template <class Executor>
Executor local(const Executor& ex) {
  return ex.on(ex.comm().local());
}

}  // namespace

template <class Executor>
void inter_barrier(Executor ex, const BarrierArguments&) {
  Executor group = local(ex);
  if (ex.rank() != 0) {
    group.send(nothing(), 0);
  } else {
    for (int peer = 1; peer < group.size(); ++peer) group.recv(nowhere(), peer);
    ex.wait();  // this group has entered
    ex.recv(nowhere(), 0);
    ex.send(nothing(), 0);
  }
  ex.wait();
  bcast_linear(group, BcastArguments{.buffer = nowhere(), .root = 0});
}

template <class Executor>
void inter_bcast(Executor ex, const BcastArguments& a) {
  if (a.root == p2p::proc_null) return;
  if (a.root == root_here) {
    ex.send(to_const(a.buffer), 0);
    return ex.wait();
  }
  if (ex.rank() == 0) {
    ex.recv(a.buffer, a.root);
    ex.wait();
  }
  bcast_binomial(local(ex), BcastArguments{.buffer = a.buffer, .root = 0});
}

template <class Executor>
void inter_gather(Executor ex, const GatherArguments& a) {
  if (a.root == root_here) {
    for (int peer = 0; peer < remote_size(ex); ++peer) {
      ex.recv(part(a.receive, peer * a.receive.count, a.receive.count), peer);
    }
  } else if (a.root != p2p::proc_null) {
    ex.send(a.send, a.root);
  }
  ex.wait();
}

template <class Executor>
void inter_gatherv(Executor ex, const GathervArguments& a) {
  if (a.root == root_here) {
    for (int peer = 0; peer < remote_size(ex); ++peer) {
      ex.recv(part(a.receive, a.displacements[peer], a.counts[peer]), peer);
    }
  } else if (a.root != p2p::proc_null) {
    ex.send(a.send, a.root);
  }
  ex.wait();
}

template <class Executor>
void inter_scatter(Executor ex, const ScatterArguments& a) {
  if (a.root == root_here) {
    for (int peer = 0; peer < remote_size(ex); ++peer) {
      ex.send(part(a.send, peer * a.send.count, a.send.count), peer);
    }
  } else if (a.root != p2p::proc_null) {
    ex.recv(a.receive, a.root);
  }
  ex.wait();
}

template <class Executor>
void inter_scatterv(Executor ex, const ScattervArguments& a) {
  if (a.root == root_here) {
    for (int peer = 0; peer < remote_size(ex); ++peer) {
      ex.send(part(a.send, a.displacements[peer], a.counts[peer]), peer);
    }
  } else if (a.root != p2p::proc_null) {
    ex.recv(a.receive, a.root);
  }
  ex.wait();
}

namespace {

// Everyone sends to the other group's leader, which hands all on to its group. BLOCK(peer) is
// where the peer's data belongs.
template <class Executor, class Block>
void gather_across(Executor& ex, const ConstBuffer& mine, Block block) {
  const int peers = remote_size(ex);
  Count total = 0;
  for (int peer = 0; peer < peers; ++peer) total += bytes_of(block(peer));
  std::byte* const packed = ex.temporary(total);
  const auto for_each_block = [&](auto use) {
    Count position = 0;
    for (int peer = 0; peer < peers; ++peer) {
      const Count bytes = bytes_of(block(peer));
      if (bytes > 0) use(peer, byte_buffer(packed + position, bytes));
      position += bytes;
    }
  };

  if (bytes_of(mine) > 0) ex.send(mine, 0);
  if (ex.rank() == 0) {
    for_each_block([&](int peer, const Buffer& place) { ex.recv(place, peer); });
  }
  ex.wait();
  bcast_binomial(local(ex), BcastArguments{.buffer = byte_buffer(packed, total), .root = 0});
  for_each_block([&](int peer, const Buffer& place) { ex.copy(to_const(place), block(peer)); });
}

}  // namespace

template <class Executor>
void inter_allgather(Executor ex, const AllgatherArguments& a) {
  gather_across(ex, a.send,
                [&](int peer) { return part(a.receive, peer * a.receive.count, a.receive.count); });
}

template <class Executor>
void inter_allgatherv(Executor ex, const AllgathervArguments& a) {
  gather_across(ex, a.send,
                [&](int peer) { return part(a.receive, a.displacements[peer], a.counts[peer]); });
}

namespace {

// As many rounds as the larger group has members; the shifts of both groups agree modulo that.
template <class Executor, class Arguments>
void exchange_across(Executor& ex, const Arguments& a) {
  const int peers = remote_size(ex);
  const int rounds = std::max(ex.size(), peers);
  const Exchange exchange = exchange_of(a, peers);
  for (int round = 0; round < rounds; ++round) {
    const int source = (ex.rank() - round + rounds) % rounds;
    const int target = (ex.rank() + round) % rounds;
    if (source < peers) start_recv(ex, exchange, source);
    if (target < peers) start_send(ex, exchange, target);
    ex.wait();
  }
}

}  // namespace

template <class Executor>
void inter_alltoall(Executor ex, const AlltoallArguments& a) {
  exchange_across(ex, a);
}
template <class Executor>
void inter_alltoallv(Executor ex, const AlltoallvArguments& a) {
  exchange_across(ex, a);
}
template <class Executor>
void inter_alltoallw(Executor ex, const AlltoallwArguments& a) {
  exchange_across(ex, a);
}

namespace {

// The group's items combined at its leader; null elsewhere.
template <class Executor>
void* combine_at_leader(Executor group, const void* send, Count count, Datatype& type, Op& op) {
  void* const sum = group.rank() == 0 ? temporary_items(group, count, type) : nullptr;
  reduce_binomial(
      group,
      ReduceArguments{
          .send = send, .receive = sum, .count = count, .type = &type, .op = &op, .root = 0});
  return sum;
}

template <class Executor>
void exchange_sums(Executor& ex, const void* mine, void* theirs, Count count, Datatype& type) {
  ex.recv({theirs, count, &type}, 0);
  ex.send({mine, count, &type}, 0);
  ex.wait();
}

}  // namespace

template <class Executor>
void inter_reduce(Executor ex, const ReduceArguments& a) {
  if (a.root == p2p::proc_null) return;
  if (a.root == root_here) {
    ex.recv({a.receive, a.count, a.type}, 0);
    return ex.wait();
  }
  const void* const sum = combine_at_leader(local(ex), a.send, a.count, *a.type, *a.op);
  if (ex.rank() == 0) ex.send({sum, a.count, a.type}, a.root);
  ex.wait();
}

template <class Executor>
void inter_allreduce(Executor ex, const AllreduceArguments& a) {
  Executor group = local(ex);
  const void* const sum = combine_at_leader(group, a.send, a.count, *a.type, *a.op);
  if (ex.rank() == 0) exchange_sums(ex, sum, a.receive, a.count, *a.type);
  bcast_binomial(group, BcastArguments{.buffer = {a.receive, a.count, a.type}, .root = 0});
}

template <class Executor>
void inter_reduce_scatter(Executor ex, const ReduceScatterArguments& a) {
  Executor group = local(ex);
  std::vector<Count> displacements;
  Count total = 0;  // the same for both groups, as the standard demands
  for (int rank = 0; rank < ex.size(); ++rank) {
    displacements.push_back(total);
    total += a.counts[rank];
  }
  const void* const sum = combine_at_leader(group, a.send, total, *a.type, *a.op);
  void* theirs = nullptr;
  if (ex.rank() == 0) {
    theirs = temporary_items(ex, total, *a.type);
    exchange_sums(ex, sum, theirs, total, *a.type);
  }
  scatterv_linear(group, ScattervArguments{.send = {theirs, 0, a.type},
                                           .counts = a.counts,
                                           .displacements = {displacements.data(), true},
                                           .receive = {a.receive, a.counts[ex.rank()], a.type},
                                           .root = 0});
}

HAWSER_INSTANTIATE(inter_barrier, BarrierArguments)
HAWSER_INSTANTIATE(inter_bcast, BcastArguments)
HAWSER_INSTANTIATE(inter_gather, GatherArguments)
HAWSER_INSTANTIATE(inter_gatherv, GathervArguments)
HAWSER_INSTANTIATE(inter_scatter, ScatterArguments)
HAWSER_INSTANTIATE(inter_scatterv, ScattervArguments)
HAWSER_INSTANTIATE(inter_allgather, AllgatherArguments)
HAWSER_INSTANTIATE(inter_allgatherv, AllgathervArguments)
HAWSER_INSTANTIATE(inter_alltoall, AlltoallArguments)
HAWSER_INSTANTIATE(inter_alltoallv, AlltoallvArguments)
HAWSER_INSTANTIATE(inter_alltoallw, AlltoallwArguments)
HAWSER_INSTANTIATE(inter_reduce, ReduceArguments)
HAWSER_INSTANTIATE(inter_allreduce, AllreduceArguments)
HAWSER_INSTANTIATE(inter_reduce_scatter, ReduceScatterArguments)

}  // namespace hawser::collective
