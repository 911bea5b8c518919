#include "collective/algorithm/alltoall.hpp"

#include <array>

#include "collective/algorithm/exchange.hpp"
#include "collective/algorithm/instantiate.hpp"

namespace hawser::collective {
namespace {

template <class Executor, class Arguments>
void exchange_linear(Executor& ex, const Arguments& a) {
  const int n = ex.size();
  const Exchange exchange = prepare_exchange(ex, a);
  for (int step = 1; step < n; ++step) start_recv(ex, exchange, (ex.rank() - step + n) % n);
  for (int step = 1; step < n; ++step) start_send(ex, exchange, (ex.rank() + step) % n);
  ex.wait();
}

template <class Executor, class Arguments>
void exchange_pairwise(Executor& ex, const Arguments& a) {
  const int n = ex.size();
  const Exchange exchange = prepare_exchange(ex, a);
  for (int step = 1; step < n; ++step) {
    start_recv(ex, exchange, (ex.rank() - step + n) % n);
    start_send(ex, exchange, (ex.rank() + step) % n);
    ex.wait();
  }
}

}  // namespace

template <class Executor>
void alltoall_linear(Executor ex, const AlltoallArguments& a) {
  exchange_linear(ex, a);
}
template <class Executor>
void alltoallv_linear(Executor ex, const AlltoallvArguments& a) {
  exchange_linear(ex, a);
}
template <class Executor>
void alltoallw_linear(Executor ex, const AlltoallwArguments& a) {
  exchange_linear(ex, a);
}
template <class Executor>
void alltoall_pairwise(Executor ex, const AlltoallArguments& a) {
  exchange_pairwise(ex, a);
}
template <class Executor>
void alltoallv_pairwise(Executor ex, const AlltoallvArguments& a) {
  exchange_pairwise(ex, a);
}
template <class Executor>
void alltoallw_pairwise(Executor ex, const AlltoallwArguments& a) {
  exchange_pairwise(ex, a);
}

namespace {

// Copies the blocks whose index has BIT between their places and a run without gaps.
template <class Executor>
void copy_blocks_with(Executor& ex, int bit, Count block, std::byte* blocks, std::byte* run,
                      bool to_run) {
  const int n = ex.size();
  for (int first = bit; first < n; first += 2 * bit) {
    const Count bytes = std::min(bit, n - first) * block;
    std::byte* const place = blocks + first * block;
    ex.copy(const_byte_buffer(to_run ? place : run, bytes),
            byte_buffer(to_run ? run : place, bytes));
    run += bytes;
  }
}

int indices_with(int bit, int n) {
  int number = 0;
  for (int first = bit; first < n; first += 2 * bit) number += std::min(bit, n - first);
  return number;
}

}  // namespace

// Block i of `blocks` has i ranks to go. In the round of a bit, blocks with that bit in i travel
// that far; after all rounds block i has come from rank me - i.
template <class Executor>
void alltoall_bruck(Executor ex, const AlltoallArguments& a) {
  const int n = ex.size();
  const int me = ex.rank();
  const Count block = bytes_of(a.receive);
  std::byte* const blocks = ex.temporary(n * block);
  const ConstBuffer send = a.in_place ? to_const(a.receive) : a.send;
  ex.copy(part(send, me * send.count, (n - me) * send.count),
          byte_buffer(blocks, (n - me) * block));
  if (me > 0) {
    ex.copy(part(send, 0, me * send.count), byte_buffer(blocks + (n - me) * block, me * block));
  }
  std::byte* const outgoing = ex.temporary((n + 1) / 2 * block);
  std::byte* const incoming = ex.temporary((n + 1) / 2 * block);
  for (int bit = 1; bit < n; bit *= 2) {
    const Count bytes = indices_with(bit, n) * block;
    copy_blocks_with(ex, bit, block, blocks, outgoing, true);
    ex.recv(byte_buffer(incoming, bytes), (me - bit + n) % n);
    ex.send(const_byte_buffer(outgoing, bytes), (me + bit) % n);
    ex.wait();
    copy_blocks_with(ex, bit, block, blocks, incoming, false);
  }
  for (int i = 0; i < n; ++i) {
    const int source = (me - i + n) % n;
    ex.copy(const_byte_buffer(blocks + i * block, block),
            part(a.receive, source * a.receive.count, a.receive.count));
  }
}

HAWSER_INSTANTIATE(alltoall_linear, AlltoallArguments)
HAWSER_INSTANTIATE(alltoallv_linear, AlltoallvArguments)
HAWSER_INSTANTIATE(alltoallw_linear, AlltoallwArguments)
HAWSER_INSTANTIATE(alltoall_pairwise, AlltoallArguments)
HAWSER_INSTANTIATE(alltoallv_pairwise, AlltoallvArguments)
HAWSER_INSTANTIATE(alltoallw_pairwise, AlltoallwArguments)
HAWSER_INSTANTIATE(alltoall_bruck, AlltoallArguments)

}  // namespace hawser::collective
