// LinkServices: what all links of a verbs transport work with.
//
// Ownership: borrows; VerbsTransport owns it and what it names, but what its own Environment names.
// Threads:   the lane lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/registration/registration_cache.hpp"
#include "transport/transport.hpp"
#include "transport/verbs/datagrams.hpp"
#include "transport/verbs/reliable_queues.hpp"
#include "transport/verbs/send_buffers.hpp"
#include "transport/verbs/xrc_queues.hpp"
#include "transport/verbs/zero_copy_transfers.hpp"

namespace hawser::transport::verbs {

class VerbsLink;

struct LinkServices {
  Identity self;
  Rail rail;
  const Port& port;
  const Settings& settings;
  Sink& sink;
  memory::Ledger& ledger;
  const std::function<std::uint64_t()>& clock;
  ibv_comp_channel* channel;
  ibv_comp_channel* departures;  // see ReliableQueues::open
  SendBuffers& buffers;
  Datagrams& datagrams;
  const std::function<memory::RegistrationCache&()> registrations;  // made at the first call
  memory::BufferPool& words;                                        // that connected peers write
  int host_file;                                                    // see XrcDomain

  /// Made when the first connection is.
  std::unique_ptr<ReliableQueues> reliable;
  /// Made when the first message goes or comes without copies.
  std::unique_ptr<ZeroCopyTransfers> zero_copy;
  /// Made when the first peer asks for XRC, or is asked.
  std::unique_ptr<XrcQueues> xrc;
  bool has_tried_xrc = false;
  std::uint32_t connections_made = 0;  // and queue pairs of XRC
  std::uint32_t rings_made = 0;
  std::uint64_t commits = 0;  // to connections, where some are to break
  bool is_up = true;          // the port is
  bool is_closing = false;    // the transport ends: the sink hears nothing more
  /// Links with something to do by themselves at some time.
  std::vector<VerbsLink*> timed;
  /// Links whose connection ends once all that came by it has been taken.
  std::vector<VerbsLink*> ending;
  /// Links with a ring that the peer writes.
  std::vector<VerbsLink*> polled;

  /// Room for a frame of BYTES, or null; see SendBuffers::reserve().
  std::byte* reserve(std::size_t bytes) {
    if (!buffers.has_free(bytes)) [[unlikely]]
      datagrams.reap_sends();
    return buffers.reserve(bytes);
  }
  /// The same for one that is released as soon as it is posted as a datagram, for which there is
  /// room then.
  std::byte* reserve_briefly() {
    if (!datagrams.has_room()) return nullptr;
    std::byte* const frame = buffers.reserve_briefly();
    if (frame != nullptr) [[likely]]
      return frame;
    datagrams.reap_sends();
    return buffers.reserve_briefly();
  }
  ZeroCopyTransfers& zero_copy_transfers() {
    if (!zero_copy)
      zero_copy = std::make_unique<ZeroCopyTransfers>(port, settings, ledger, channel, sink);
    return *zero_copy;
  }
  /// The queues of connections; null where the adapter refuses them.
  ReliableQueues* reliable_queues() {
    if (reliable) return reliable.get();
    auto made = ReliableQueues::open(port, channel, departures, ledger, settings);
    if (!made) return nullptr;
    reliable = std::move(*made);
    return reliable.get();
  }
  /// What there is of XRC; null where the adapter refuses it.
  XrcQueues* xrc_queues() {
    if (!std::exchange(has_tried_xrc, true))
      xrc = XrcQueues::open(
          {port, host_file, channel, departures, ledger, buffers, settings, connections_made});
    return xrc.get();
  }
};

}  // namespace hawser::transport::verbs
