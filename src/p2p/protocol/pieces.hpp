// How a long message is cut into frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"

namespace hawser::p2p {

/// What the next frame carries of the LEFT bytes of a message, more than none, if it can carry
/// MOST: no more frames than it takes, and these about alike. With a short one at the end a message
/// of 34 KiB took 2.7 times as long as one of 32 KiB: a short frame does not go back in the row of
/// cells in which it came (transport/shm/cells.hpp), so that all lines crossed twice.
constexpr std::size_t piece_of(std::uint64_t left, std::size_t most) {
  const std::uint64_t frames = (left + most - 1) / most;
  return std::min<std::uint64_t>({left, most, base::round_to_lines((left + frames - 1) / frames)});
}

}  // namespace hawser::p2p
