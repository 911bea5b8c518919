// A network that is a data structure: devices of one process, a clock that somebody moves, and
// packets that take their time, get lost, come twice or out of order, all from a seed.
//
// Packets travel as the bytes that they would be on the wire. Ownership: outlives the links that it
// gives out; owns packets on their way. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "softrdma/link/faults.hpp"
#include "softrdma/link/link.hpp"

namespace softrdma::link {

struct SimulationSettings {
  std::uint64_t seed = 0;
  std::uint64_t latency_ns = 1000;
  std::uint64_t late_ns_max = 100000;
  std::uint32_t window_packets = 32;
  std::size_t packets_max = 1024;  // on their way to one host
  Faults faults;
};

class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(const SimulationSettings& settings)
      : settings_(settings), random_(settings.seed) {}
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  /// The link of a host with this LID; there is one link for each. Borrows this network.
  std::unique_ptr<Link> join(std::uint16_t lid);

  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
  void move_clock_to(std::uint64_t now_ns) { now_ns_ = now_ns; }
  /// When the next packet arrives anywhere.
  [[nodiscard]] std::optional<std::uint64_t> next_arrival_ns() const;

 private:
  class Port;
  struct Flying {
    std::uint16_t source_lid;
    std::vector<std::byte> bytes;
  };
  using Flights = std::multimap<std::uint64_t, Flying>;  // by the time of arrival

  bool hits(std::uint32_t of_a_million) { return random_() % 1000000 < of_a_million; }
  void launch(std::uint16_t from, std::uint16_t to, std::vector<std::byte> bytes);
  std::uint64_t arrival_ns();

  const SimulationSettings settings_;
  std::mt19937_64 random_;
  std::uint64_t now_ns_ = 1;
  std::map<std::uint16_t, Flights> hosts_;
};

}  // namespace softrdma::link
