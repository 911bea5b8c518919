// Acknowledgement: what a receiver tells the sender of a stream of numbered frames.
//
// Values; numbers wrap at 2^32.
#pragma once

#include <cstdint>

namespace hawser::delivery {

struct Acknowledgement {
  std::uint32_t expected = 0;  // every frame before this one has arrived
  std::uint32_t window = 0;    // frames from `expected` on that may be on their way; at least 1
  std::uint64_t early = 0;     // bit i: frame expected + 1 + i has arrived ahead of its turn
};

}  // namespace hawser::delivery
