// Receive requests for buffers of a pool, posted in chains.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port_registrar.hpp"

namespace hawser::transport::verbs {

/// Gives POST(ibv_recv_wr*) chains of requests that receive BYTES into each of BUFFERS. A request's
/// wr_id is the address of its buffer, and TAG added to that.
template <class Post>
void post_receive_requests(std::span<memory::BufferPool::Buffer* const> buffers, std::size_t bytes,
                           std::uint64_t tag, Post&& post) {
  constexpr std::size_t requests_per_post = 16;
  while (!buffers.empty()) {
    std::array<ibv_recv_wr, requests_per_post> requests{};
    std::array<ibv_sge, requests_per_post> pieces{};
    const std::size_t count = std::min(buffers.size(), requests.size());
    for (std::size_t i = 0; i < count; ++i) {
      pieces[i] = {reinterpret_cast<std::uint64_t>(buffers[i]->data()),
                   static_cast<std::uint32_t>(bytes),
                   PortRegistrar::local_key(buffers[i]->handle())};
      requests[i].wr_id = reinterpret_cast<std::uint64_t>(buffers[i]) + tag;
      requests[i].sg_list = &pieces[i];
      requests[i].num_sge = 1;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
    }
    post(requests.data());
    buffers = buffers.subspan(count);
  }
}

}  // namespace hawser::transport::verbs
