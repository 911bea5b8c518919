// Packet sequence numbers: 24 bits, counted modulo 2^24 (InfiniBand Architecture Specification,
// volume 1, §9.7.1). At most half of them are on their way, so that of two it is clear which is
// older.
#pragma once

#include <cstdint>

#include "softrdma/wire/packet.hpp"

namespace softrdma::qp {

using wire::number_mask;

constexpr std::uint32_t advance(std::uint32_t sequence, std::uint32_t packets) {
  return (sequence + packets) & number_mask;
}
/// How far A is behind (negative) or ahead of B.
constexpr std::int32_t distance(std::uint32_t a, std::uint32_t b) {
  // The sign of 24 bits, moved to that of 32.
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}
constexpr bool is_before(std::uint32_t a, std::uint32_t b) { return distance(a, b) < 0; }

static_assert(distance(0, number_mask) == 1 && distance(number_mask, 0) == -1);
static_assert(is_before(0xfffff0, 5) && !is_before(5, 0xfffff0));

}  // namespace softrdma::qp
