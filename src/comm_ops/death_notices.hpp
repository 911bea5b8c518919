// DeathNotices: where the launcher tells nobody of deaths, who has found one tells others, and so
// does whoever hears of it for the first time.
//
// Each process tells those that stand 1, 2, 4, … before and behind it in the job: everybody who
// lives hears of a death after about log2(n) steps, also if some of those in between are dead
// (binomial graph; Bosilca et al., Failure detection and propagation in HPC systems, SC 2016).
// A message is the index of the process, 32 bits.
//
// Ownership: owned by Mitigation; borrows the engine, whose backend calls it.
// Threads:   the lane lock.
// Bounds:    2 * log2(n) messages of each process for each death.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "p2p/engine.hpp"

namespace hawser::comm_ops {

using base::Identity;

class DeathNotices {
 public:
  /// SELF is of a job of so many PROCESSES; one of them, where the launcher tells of deaths.
  DeathNotices(p2p::Engine& engine, const Identity& self, std::uint32_t processes)
      : engine_(engine), self_(self), processes_(processes) {}

  void on_departure(const p2p::Departure& departure);
  void on_message(const Identity& from, std::span<const std::byte> message);
  /// Whom the process INDEX of PROCESSES tells, each of them once.
  static std::vector<std::uint32_t> neighbours_of(std::uint32_t index, std::uint32_t processes);

 private:
  p2p::Engine& engine_;
  const Identity self_;
  const std::uint32_t processes_;
};

}  // namespace hawser::comm_ops
