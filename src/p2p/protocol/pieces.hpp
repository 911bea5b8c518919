// How a long message is cut into frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"

namespace hawser::p2p {

/// What the next frame carries of the LEFT bytes of a message, more than none, if it can carry
/// MOST: no more frames than it takes, and these about alike, so that the receiver begins sooner
/// and no end waits for the other. 44 and 48 KiB by rings, in frames of 32 KiB at most: 2.03
/// -> 1.84 and 2.13 -> 1.96 us.
constexpr std::size_t piece_of(std::uint64_t left, std::size_t most) {
  const std::uint64_t frames = (left + most - 1) / most;
  return std::min<std::uint64_t>({left, most, base::round_to_lines((left + frames - 1) / frames)});
}

}  // namespace hawser::p2p
