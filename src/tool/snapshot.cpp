#include "tool/snapshot.hpp"

#include <algorithm>

namespace hawser::tool {

namespace {

void add_peer(const channel::Endpoint& endpoint, std::vector<PeerTraffic>& peers) {
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<transport::ChannelKind>(i);
    if (endpoint.sent(kind).messages == 0 && endpoint.received(kind).messages == 0) continue;
    peers.push_back({endpoint.identity().index, std::string(transport::channel_name(kind)),
                     endpoint.sent(kind), endpoint.received(kind)});
  }
}

}  // namespace

Statistics take_snapshot(session::Process& process, const base::ParameterRegistry& registry,
                         std::uint64_t elapsed_ns) {
  const p2p::LaneLock lock(process.engine());
  Statistics statistics = start_statistics();
  statistics.self = process.placement().self;
  statistics.job_size = process.placement().size;
  statistics.elapsed_ns = elapsed_ns;
  process.endpoints().for_each(
      [&](const channel::Endpoint& endpoint) { add_peer(endpoint, statistics.peers); });
  std::sort(statistics.peers.begin(), statistics.peers.end(),
            [](const PeerTraffic& a, const PeerTraffic& b) { return a.peer < b.peer; });
  statistics.sent_sizes = process.backend().sent_sizes();
  for (const p2p::SendEntry& entry : p2p::send_protocols)
    statistics.protocols.push_back(
        {"send." + std::string(entry.name), process.backend().sends_by(entry.protocol)});
  for (const p2p::FetchEntry& entry : p2p::fetch_protocols)
    statistics.protocols.push_back(
        {"fetch." + std::string(entry.name), process.backend().fetches_by(entry.protocol)});
  statistics.protocols.push_back({"unexpected", process.backend().unexpected_messages()});
  statistics.ledger = ledger_accounts(process.ledger());
  statistics.sleeps = process.surroundings().sleeps();
  statistics.wakes = process.surroundings().wakes();
  statistics.parameters = changed_parameters(registry);
  return statistics;
}

}  // namespace hawser::tool
