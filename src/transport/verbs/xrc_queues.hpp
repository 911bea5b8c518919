// XrcQueues: what all links of one port share of XRC: the host's domain, the queue pairs that send,
// and the queue that receives. Made when the first peer asks, or is asked.
//
// Ownership: owns all three; borrows what open() gets. Threads: the lane lock.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/verbs/xrc_domain.hpp"
#include "transport/verbs/xrc_hosts.hpp"
#include "transport/verbs/xrc_receives.hpp"

namespace hawser::transport::verbs {

struct XrcQueues {
  struct Environment {
    const Port& port;
    int host_file;  // see XrcDomain
    ibv_comp_channel* channel;
    ibv_comp_channel* departures;  // null: CHANNEL tells of everything
    memory::Ledger& ledger;
    SendBuffers& buffers;
    const Settings& settings;
    std::uint32_t& queue_pairs_made;
  };
  /// Null where the adapter refuses.
  static std::unique_ptr<XrcQueues> open(const Environment& environment) {
    auto domain = XrcDomain::open(environment.port, environment.host_file);
    if (!domain) return nullptr;
    auto queues = std::make_unique<XrcQueues>(XrcQueues{std::move(*domain), nullptr, nullptr});
    ibv_comp_channel* const departures =
        environment.departures != nullptr ? environment.departures : environment.channel;
    auto hosts = XrcHosts::open(environment.port, departures, environment.buffers,
                                environment.settings, environment.queue_pairs_made);
    auto receives = XrcReceives::open(environment.port, queues->domain, environment.channel,
                                      environment.ledger, environment.settings);
    if (!hosts || !receives) return nullptr;
    queues->hosts = std::move(*hosts);
    queues->receives = std::move(*receives);
    return queues;
  }

  bool poll() {
    const bool has_left = hosts->poll();
    const bool has_come = receives->poll();
    if (hosts->has_broken()) [[unlikely]]
      hosts->serve();
    return has_left || has_come;
  }
  void arm() {
    hosts->arm();
    receives->arm();
  }

  XrcDomain domain;
  std::unique_ptr<XrcHosts> hosts;
  std::unique_ptr<XrcReceives> receives;
};

}  // namespace hawser::transport::verbs
