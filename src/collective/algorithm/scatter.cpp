#include "collective/algorithm/scatter.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/algorithm/instantiate.hpp"
#include "collective/algorithm/tree.hpp"

namespace hawser::collective {

template <class Executor>
void scatter_linear(Executor ex, const ScatterArguments& a) {
  if (ex.rank() != a.root) {
    ex.recv(a.receive, a.root);
    return ex.wait();
  }
  const auto block = [&](int peer) { return part(a.send, peer * a.send.count, a.send.count); };
  for (int peer = 0; peer < ex.size(); ++peer) {
    if (peer != a.root) ex.send(block(peer), peer);
  }
  if (!a.in_place) ex.copy(block(a.root), a.receive);
  ex.wait();
}

namespace {

// The root's blocks but its own, packed in turned order.
template <class Executor>
void pack_turned(Executor& ex, const ScatterArguments& a, std::byte* blocks, Count block) {
  const auto pack = [&](int first_number, int first_rank, int number) {
    if (number == 0) return;
    ex.copy(part(a.send, first_rank * a.send.count, number * a.send.count),
            byte_buffer(blocks + first_number * block, number * block));
  };
  pack(1, a.root + 1, ex.size() - a.root - 1);
  pack(ex.size() - a.root, 0, a.root);
}

}  // namespace

template <class Executor>
void scatter_binomial(Executor ex, const ScatterArguments& a) {
  const bool is_root = ex.rank() == a.root;
  const Turned turned{a.root, ex.size()};
  const int me = turned.number(ex.rank());
  const int span = subtree_size(me, ex.size());
  if (!is_root && span == 1) {
    ex.recv(a.receive, turned.rank(parent(me)));
    return ex.wait();
  }
  const Count block = is_root ? bytes_of(a.send) : bytes_of(a.receive);
  std::byte* const blocks = ex.temporary(span * block);
  if (is_root) {
    pack_turned(ex, a, blocks, block);
    if (!a.in_place) ex.copy(part(a.send, a.root * a.send.count, a.send.count), a.receive);
  } else {
    ex.recv(byte_buffer(blocks, span * block), turned.rank(parent(me)));
    ex.wait();
    ex.copy(const_byte_buffer(blocks, block), a.receive);
  }
  for (int bit = power_of_two_below(span); bit > 0; bit /= 2) {
    if (bit >= span) continue;  // only if span is 1, or the power itself
    ex.send(const_byte_buffer(blocks + bit * block, subtree_size(me + bit, ex.size()) * block),
            turned.rank(me + bit));
  }
  ex.wait();
}

template <class Executor>
void scatterv_linear(Executor ex, const ScattervArguments& a) {
  if (ex.rank() != a.root) {
    if (bytes_of(a.receive) > 0) ex.recv(a.receive, a.root);
    return ex.wait();
  }
  const auto block = [&](int peer) { return part(a.send, a.displacements[peer], a.counts[peer]); };
  for (int peer = 0; peer < ex.size(); ++peer) {
    if (peer != a.root && bytes_of(block(peer)) > 0) ex.send(block(peer), peer);
  }
  if (!a.in_place) ex.copy(block(a.root), a.receive);
  ex.wait();
}

HAWSER_INSTANTIATE(scatter_linear, ScatterArguments)
HAWSER_INSTANTIATE(scatter_binomial, ScatterArguments)
HAWSER_INSTANTIATE(scatterv_linear, ScattervArguments)

}  // namespace hawser::collective
