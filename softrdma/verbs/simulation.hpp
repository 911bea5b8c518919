// Simulation: adapters of one process on a network that is a data structure, with a clock that
// somebody moves. The adapters are those that a host has; nothing of them runs by itself.
//
// Ownership: of network and devices. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "softrdma/link/simulated.hpp"
#include "softrdma/verbs/listed_device.hpp"

namespace softrdma::verbs {

struct SimulatedAdapterSettings {
  std::uint32_t context_entries = 1024;
  std::uint64_t context_miss_ns = 0;
};

class Simulation {
 public:
  Simulation(const link::SimulationSettings& network, const SimulatedAdapterSettings& adapters)
      : settings_(network), adapters_(adapters), network_(network) {}
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Null if there are as many as there are LIDs. INDEX: of its name.
  ListedDevice* add(int index);
  [[nodiscard]] const std::vector<std::unique_ptr<ListedDevice>>& devices() const {
    return devices_;
  }

  [[nodiscard]] std::uint64_t now_ns() const { return network_.now_ns(); }
  /// Does what is to be done now, moves the clock to when there is something again, and does that.
  /// False: nothing will happen by itself, and the clock stays.
  bool step();

 private:
  void settle();
  [[nodiscard]] std::uint64_t next_ns() const;

  const link::SimulationSettings settings_;
  const SimulatedAdapterSettings adapters_;
  link::SimulatedNetwork network_;
  std::vector<std::unique_ptr<ListedDevice>> devices_;
};

}  // namespace softrdma::verbs
