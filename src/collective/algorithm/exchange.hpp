// Exchange: what goes to and comes from each peer in an alltoall of any kind.
#pragma once

#include <vector>

#include "collective/algorithm/buffers.hpp"

namespace hawser::collective {

struct Exchange {
  std::vector<ConstBuffer> out;
  std::vector<Buffer> in;
};

inline Exchange exchange_of(const AlltoallArguments& a, int peers) {
  Exchange exchange;
  for (int peer = 0; peer < peers; ++peer) {
    if (!a.in_place) exchange.out.push_back(part(a.send, peer * a.send.count, a.send.count));
    exchange.in.push_back(part(a.receive, peer * a.receive.count, a.receive.count));
  }
  return exchange;
}

inline Exchange exchange_of(const AlltoallvArguments& a, int peers) {
  Exchange exchange;
  for (int peer = 0; peer < peers; ++peer) {
    if (!a.in_place) {
      exchange.out.push_back(part(a.send, a.send_displacements[peer], a.send_counts[peer]));
    }
    exchange.in.push_back(part(a.receive, a.receive_displacements[peer], a.receive_counts[peer]));
  }
  return exchange;
}

inline Exchange exchange_of(const AlltoallwArguments& a, int peers) {
  Exchange exchange;
  for (int peer = 0; peer < peers; ++peer) {
    if (!a.in_place) {
      exchange.out.push_back(
          {offset(a.send, a.send_displacements[peer]), a.send_counts[peer], a.send_types[peer]});
    }
    exchange.in.push_back({offset(a.receive, a.receive_displacements[peer]), a.receive_counts[peer],
                           a.receive_types[peer]});
  }
  return exchange;
}

/// In place: the data to send stands where the received data will; pack it aside. The own block
/// stays where it is.
template <class Executor>
void pack_aside(Executor& ex, Exchange& exchange) {
  Count total = 0;
  for (const Buffer& block : exchange.in) total += bytes_of(block);
  std::byte* memory = ex.temporary(total);
  for (const Buffer& block : exchange.in) {
    const Buffer packed = byte_buffer(memory, bytes_of(block));
    memory += packed.count;
    if (packed.count > 0) ex.copy(to_const(block), packed);
    exchange.out.push_back(to_const(packed));
  }
}

/// The blocks of ARGUMENTS for the members of the intracommunicator of EX.
template <class Executor, class Arguments>
Exchange prepare_exchange(Executor& ex, const Arguments& arguments) {
  Exchange exchange = exchange_of(arguments, ex.size());
  if (arguments.in_place) {
    pack_aside(ex, exchange);
  } else {
    const auto me = static_cast<std::size_t>(ex.rank());
    ex.copy(exchange.out[me], exchange.in[me]);
  }
  return exchange;
}

template <class Executor>
void start_recv(Executor& ex, const Exchange& exchange, int peer) {
  const Buffer& block = exchange.in[static_cast<std::size_t>(peer)];
  if (bytes_of(block) > 0) ex.recv(block, peer);
}

template <class Executor>
void start_send(Executor& ex, const Exchange& exchange, int peer) {
  const ConstBuffer& block = exchange.out[static_cast<std::size_t>(peer)];
  if (bytes_of(block) > 0) ex.send(block, peer);
}

}  // namespace hawser::collective
