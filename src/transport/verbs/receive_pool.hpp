// ReceivePool: the memory of all receive buffers of one priority, whichever queues they wait in.
//
// Ownership: of slabs and their registrations; borrows port and ledger. Threads: the lane lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port.hpp"
#include "transport/verbs/port_registrar.hpp"

namespace hawser::transport::verbs {

struct ReceivePool {
  static constexpr std::size_t buffers_per_slab = 16;
  /// Tags of pools are below this.
  static constexpr std::uint64_t tags = memory::BufferPool::alignment;

  /// Of at most BUFFERS_MAX buffers of BYTES. WHICH: see `tag`.
  ReceivePool(const Port& port, memory::Ledger& ledger, std::size_t bytes, std::size_t buffers_max,
              std::uint64_t which)
      : frame_bytes(bytes),
        tag(which),
        registrar(port, PortRegistrar::Reach::local),
        buffers(registrar, ledger,
                {.account = memory::Account::connection_buffers,
                 .buffer_bytes = bytes,
                 .slab_buffers = buffers_per_slab,
                 .slabs_max = (buffers_max + buffers_per_slab - 1) / buffers_per_slab}) {}

  const std::size_t frame_bytes;
  const std::uint64_t tag;  // what the wr_id of a buffer has besides its address
  PortRegistrar registrar;
  memory::BufferPool buffers;
};

}  // namespace hawser::transport::verbs
