// Which of the usable cores a rank gets.
//
// automatic: the cores are dealt out evenly, neighbours together, if there is one for each thread
//            that is busy; a job of one rank keeps them all. Two jobs at a time then overlap evenly
//            instead of piling up on the first cores, and threads of a rank have room.
// core:      one core per rank, round and round.
#pragma once

#include <cstdint>
#include <optional>

#include "launcher/options.hpp"

namespace hawser::launcher {

/// `count` cores from number `first` on.
struct CoreShare {
  std::uint32_t first;
  std::uint32_t count;
  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// The share of RANK of RANKS, each with so many BUSY_THREADS (>= 1), out of CORES (>= 1); nothing:
/// unbound.
std::optional<CoreShare> share_of(BindTo bind_to, std::uint32_t rank, std::uint32_t ranks,
                                  std::uint32_t busy_threads, std::uint32_t cores);

}  // namespace hawser::launcher
