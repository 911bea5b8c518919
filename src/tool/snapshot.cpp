#include "tool/snapshot.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "tool/performance_variables.hpp"

namespace hawser::tool {

namespace {

std::string job_of(const base::Identity& peer, const base::Identity& self) {
  if (peer.job == self.job) return {};
  return peer.job == 0 ? ended_jobs : job_text(peer.job);
}

void add_peer(const channel::Endpoint& endpoint, Statistics& statistics) {
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<transport::ChannelKind>(i);
    if (endpoint.sent(kind).messages == 0 && endpoint.received(kind).messages == 0) continue;
    statistics.peers.push_back(
        {endpoint.identity().index, std::string(transport::channel_name(kind)), endpoint.sent(kind),
         endpoint.received(kind), job_of(endpoint.identity(), statistics.self)});
  }
}

/// A connection carries also what is built upon it.
bool has_used(const channel::Endpoint& endpoint, transport::ChannelKind kind) {
  using transport::ChannelKind;
  const auto has_traffic = [&](ChannelKind each) {
    return endpoint.sent(each).messages + endpoint.received(each).messages > 0;
  };
  return has_traffic(kind) ||
         (kind == ChannelKind::rc_send &&
          (has_traffic(ChannelKind::rc_rdma) || has_traffic(ChannelKind::rc_fast_path)));
}

void add_connections(const channel::EndpointTable& endpoints, Statistics& statistics) {
  for (const transport::ChannelKind kind : transport::earned_kinds) {
    const auto counts = endpoints.dedicated(kind);
    if (counts.opened == 0) continue;
    std::uint64_t used = 0;
    endpoints.for_each(
        [&](const channel::Endpoint& endpoint) { used += has_used(endpoint, kind) ? 1 : 0; });
    statistics.connections.push_back({std::string(transport::channel_name(kind)), counts.now,
                                      counts.most, counts.opened, used, 0});
  }
}

/// Of transports that need one for each peer, under the name of the channel that it is.
void add_peer_connections(const session::Process& process, Statistics& statistics) {
  for (const auto& transport : process.transports()) {
    const transport::Transport::PeerConnections counts = transport->connections();
    if (counts.opened == 0) continue;
    std::uint64_t used = 0;
    process.endpoints().for_each([&](const channel::Endpoint& endpoint) {
      used += has_used(endpoint, transport::ChannelKind::tcp) ? 1 : 0;
    });
    statistics.connections.push_back({std::string(transport->name()), counts.now, counts.most,
                                      counts.opened, used, counts.rested});
  }
}

void add_rails(const session::Process& process, Statistics& statistics) {
  for (const auto& transport : process.transports())
    for (transport::Transport::Traffic& traffic : transport->traffic())
      statistics.rails.push_back(
          {std::string(transport->name()), std::move(traffic.by), traffic.bytes_sent});
}

/// Puts the numbers of VARIABLE where the report shows them.
void add_variable(const PerformanceVariable& variable, std::span<const std::uint64_t> numbers,
                  Statistics& statistics) {
  switch (variable.section) {
    case ReportSection::none:
      break;
    case ReportSection::sent_sizes:
      for (std::size_t bin = 0; bin < numbers.size(); ++bin)
        statistics.sent_sizes.add_many(base::SizeHistogram::first_of_bin(bin), numbers[bin]);
      break;
    case ReportSection::protocols:
      statistics.protocols.push_back({variable.report_name, numbers[0]});
      break;
    case ReportSection::ledger_current:
      statistics.ledger.push_back({variable.report_name, static_cast<std::int64_t>(numbers[0]), 0});
      break;
    case ReportSection::ledger_peak:
      statistics.ledger.back().peak_bytes = static_cast<std::int64_t>(numbers[0]);
      break;
    case ReportSection::sleeps:
      statistics.sleeps = numbers[0];
      break;
    case ReportSection::wakes:
      statistics.wakes = numbers[0];
      break;
  }
}

void add_variables(session::Process& process, Statistics& statistics) {
  for (const PerformanceVariable& variable : make_performance_variables()) {
    std::vector<std::uint64_t> numbers(variable.length);
    read_variable(variable, &process, numbers);
    add_variable(variable, numbers, statistics);
  }
  std::erase_if(statistics.ledger, [](const AccountBytes& account) {
    return account.peak_bytes == 0;  // never charged
  });
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
      [&](const channel::Endpoint& endpoint) { add_peer(endpoint, statistics); });
  std::sort(statistics.peers.begin(), statistics.peers.end(),
            [](const PeerTraffic& a, const PeerTraffic& b) {
              return std::tie(a.of_job, a.peer) < std::tie(b.of_job, b.peer);
            });
  add_connections(process.endpoints(), statistics);
  add_peer_connections(process, statistics);
  add_rails(process, statistics);
  add_variables(process, statistics);
  statistics.parameters = changed_parameters(registry);
  return statistics;
}

}  // namespace hawser::tool
