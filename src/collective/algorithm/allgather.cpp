#include "collective/algorithm/allgather.hpp"

#include "collective/algorithm/bcast.hpp"
#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/gather.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {
namespace {

Buffer blocks(const AllgatherArguments& a, int first, int number) {
  return part(a.receive, first * a.receive.count, number * a.receive.count);
}

/// What this process contributes.
ConstBuffer own(const AllgatherArguments& a, int rank) {
  return a.in_place ? to_const(blocks(a, rank, 1)) : a.send;
}

template <class Executor>
void place_own(Executor& ex, const AllgatherArguments& a) {
  if (!a.in_place) ex.copy(a.send, blocks(a, ex.rank(), 1));
}

}  // namespace

template <class Executor>
void allgather_linear(Executor ex, const AllgatherArguments& a) {
  gather_linear(ex, GatherArguments{.send = own(a, ex.rank()),
                                    .receive = a.receive,
                                    .root = 0,
                                    .in_place = a.in_place && ex.rank() == 0});
  bcast_linear(ex, BcastArguments{.buffer = blocks(a, 0, ex.size()), .root = 0});
}

template <class Executor>
void allgather_ring(Executor ex, const AllgatherArguments& a) {
  const int n = ex.size();
  place_own(ex, a);
  for (int step = 0; step + 1 < n; ++step) {
    ex.recv(blocks(a, (ex.rank() - step - 1 + n) % n, 1), (ex.rank() - 1 + n) % n);
    ex.send(to_const(blocks(a, (ex.rank() - step + n) % n, 1)), (ex.rank() + 1) % n);
    ex.wait();
  }
}

template <class Executor>
void allgather_recursive_doubling(Executor ex, const AllgatherArguments& a) {
  place_own(ex, a);
  for (int bit = 1; bit < ex.size(); bit *= 2) {
    const int peer = ex.rank() ^ bit;
    ex.recv(blocks(a, peer & ~(bit - 1), bit), peer);
    ex.send(to_const(blocks(a, ex.rank() & ~(bit - 1), bit)), peer);
    ex.wait();
  }
}

template <class Executor>
void allgather_bruck(Executor ex, const AllgatherArguments& a) {
  const int n = ex.size();
  const int me = ex.rank();
  const Count block = bytes_of(a.receive);
  std::byte* const turned = ex.temporary(n * block);  // begins with the own block
  ex.copy(own(a, me), byte_buffer(turned, block));
  for (int held = 1; held < n; held *= 2) {
    const int number = std::min(held, n - held);
    ex.recv(byte_buffer(turned + held * block, number * block), (me + held) % n);
    ex.send(const_byte_buffer(turned, number * block), (me - held + n) % n);
    ex.wait();
  }
  ex.copy(const_byte_buffer(turned, (n - me) * block), blocks(a, me, n - me));
  if (me > 0) ex.copy(const_byte_buffer(turned + (n - me) * block, me * block), blocks(a, 0, me));
}

namespace {

Buffer block(const AllgathervArguments& a, int rank) {
  return part(a.receive, a.displacements[rank], a.counts[rank]);
}

}  // namespace

template <class Executor>
void allgatherv_linear(Executor ex, const AllgathervArguments& a) {
  const int me = ex.rank();
  Count total = 0;
  for (int rank = 0; rank < ex.size(); ++rank) total += bytes_of(block(a, rank));
  std::byte* const packed = ex.temporary(total);
  const ConstBuffer mine = a.in_place ? to_const(block(a, me)) : a.send;
  // Calls USE(rank, its block in `packed`) for every block that is not empty.
  const auto for_each_block = [&](auto use) {
    Count position = 0;
    for (int rank = 0; rank < ex.size(); ++rank) {
      const Count bytes = bytes_of(block(a, rank));
      if (bytes > 0) use(rank, byte_buffer(packed + position, bytes));
      position += bytes;
    }
  };

  if (me == 0) {
    for_each_block([&](int rank, const Buffer& place) {
      rank == 0 ? ex.copy(mine, place) : ex.recv(place, rank);
    });
  } else if (bytes_of(mine) > 0) {
    ex.send(mine, 0);
  }
  ex.wait();
  bcast_linear(ex, BcastArguments{.buffer = byte_buffer(packed, total), .root = 0});
  for_each_block([&](int rank, const Buffer& place) {
    if (rank != me || !a.in_place) ex.copy(to_const(place), block(a, rank));
  });
}

template <class Executor>
void allgatherv_ring(Executor ex, const AllgathervArguments& a) {
  const int n = ex.size();
  const int me = ex.rank();
  if (!a.in_place) ex.copy(a.send, block(a, me));
  for (int step = 0; step + 1 < n; ++step) {
    const Buffer in = block(a, (me - step - 1 + n) % n);
    const Buffer out = block(a, (me - step + n) % n);
    if (bytes_of(in) > 0) ex.recv(in, (me - 1 + n) % n);
    if (bytes_of(out) > 0) ex.send(to_const(out), (me + 1) % n);
    ex.wait();
  }
}

HAWSER_INSTANTIATE(allgather_linear, AllgatherArguments)
HAWSER_INSTANTIATE(allgather_ring, AllgatherArguments)
HAWSER_INSTANTIATE(allgather_recursive_doubling, AllgatherArguments)
HAWSER_INSTANTIATE(allgather_bruck, AllgatherArguments)
HAWSER_INSTANTIATE(allgatherv_linear, AllgathervArguments)
HAWSER_INSTANTIATE(allgatherv_ring, AllgathervArguments)

}  // namespace hawser::collective
