#include "collective/algorithm/gather.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/tree.hpp"

namespace hawser::collective {

template <class Executor>
void gather_linear(Executor ex, const GatherArguments& a) {
  if (ex.rank() != a.root) {
    ex.send(a.send, a.root);
    return ex.wait();
  }
  const auto place = [&](int peer) {
    return part(a.receive, peer * a.receive.count, a.receive.count);
  };
  for (int peer = 0; peer < ex.size(); ++peer) {
    if (peer != a.root) ex.recv(place(peer), peer);
  }
  if (!a.in_place) ex.copy(a.send, place(a.root));
  ex.wait();
}

template <class Executor>
void gather_binomial(Executor ex, const GatherArguments& a) {
  const bool is_root = ex.rank() == a.root;
  const Turned turned{a.root, ex.size()};
  const int me = turned.number(ex.rank());
  const int span = subtree_size(me, ex.size());
  if (!is_root && span == 1) {
    ex.send(a.send, turned.rank(parent(me)));
    return ex.wait();
  }
  const Count block = is_root ? bytes_of(a.receive) : bytes_of(a.send);
  std::byte* const blocks = ex.temporary(span * block);
  for (int bit = 1; bit < span; bit *= 2) {
    ex.recv(byte_buffer(blocks + bit * block, subtree_size(me + bit, ex.size()) * block),
            turned.rank(me + bit));
  }
  if (!is_root) {
    ex.copy(a.send, byte_buffer(blocks, block));
    ex.wait();
    ex.send(const_byte_buffer(blocks, span * block), turned.rank(parent(me)));
    return ex.wait();
  }
  if (!a.in_place) ex.copy(a.send, part(a.receive, a.root * a.receive.count, a.receive.count));
  ex.wait();
  // Blocks stand in turned order: those above the root first, then those below it.
  const auto unpack = [&](int first_number, int first_rank, int number) {
    if (number == 0) return;
    ex.copy(const_byte_buffer(blocks + first_number * block, number * block),
            part(a.receive, first_rank * a.receive.count, number * a.receive.count));
  };
  unpack(1, a.root + 1, ex.size() - a.root - 1);
  unpack(ex.size() - a.root, 0, a.root);
}

template <class Executor>
void gatherv_linear(Executor ex, const GathervArguments& a) {
  if (ex.rank() != a.root) {
    if (bytes_of(a.send) > 0) ex.send(a.send, a.root);
    return ex.wait();
  }
  const auto place = [&](int peer) {
    return part(a.receive, a.displacements[peer], a.counts[peer]);
  };
  for (int peer = 0; peer < ex.size(); ++peer) {
    if (peer != a.root && bytes_of(place(peer)) > 0) ex.recv(place(peer), peer);
  }
  if (!a.in_place) ex.copy(a.send, place(a.root));
  ex.wait();
}

HAWSER_INSTANTIATE(gather_linear, GatherArguments)
HAWSER_INSTANTIATE(gather_binomial, GatherArguments)
HAWSER_INSTANTIATE(gatherv_linear, GathervArguments)

}  // namespace hawser::collective
