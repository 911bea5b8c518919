// One simulation: a job whose processes are fibers, over a network that a seed determines.
//
// Threads: one per simulation; nothing is shared between simulations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/network.hpp"
#include "sim/workload.hpp"

namespace hawser::sim {

struct Plan {
  std::uint64_t seed = 0;
  const WorkloadEntry* workload = nullptr;
  int ranks = 0;  // 0: 2 to 12, by the seed
  bool verbose = false;
  /// A test's changes to the network that the seed gave.
  std::function<void(NetworkSettings&)> adjust_network{};
  /// And to the settings of all processes.
  std::function<void(session::Settings&)> adjust_settings{};
};

/// What the processes say of themselves at their end, summed up.
struct ProcessProbes {
  std::array<std::uint64_t, p2p::send_protocols.size()> sends{};
  std::array<std::uint64_t, p2p::fetch_protocols.size()> fetches{};
  std::uint64_t unexpected = 0;
};

struct Outcome {
  std::string failure;  // empty: none
  int ranks = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t simulated_ns = 0;
  NetworkProbes network;
  ProcessProbes processes;
};

Outcome simulate(const Plan& plan);

}  // namespace hawser::sim
