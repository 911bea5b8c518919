// The first eight bytes of every frame that an endpoint sends, on every transport.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------+---------------+---------------+---------------+
//   | class         | version (1)   | flags         | 0             |
//   +---------------+---------------+---------------+---------------+
//   | sequence number (little-endian; 0 if not sequenced)           |
//   +---------------------------------------------------------------+
//
// class: an active-message class of the layer above. flags bit 0: sequenced, that is, delivered in
// the order of the numbers whatever channel it comes by.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hawser::channel {

static_assert(std::endian::native == std::endian::little,
              "wire fields are little-endian; a big-endian host needs conversions");

struct FramePrefix {
  static constexpr std::uint8_t current_version = 1;
  static constexpr std::uint8_t sequenced = 1;

  std::uint8_t frame_class;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint8_t reserved;
  std::uint32_t sequence;
};
static_assert(sizeof(FramePrefix) == 8);

}  // namespace hawser::channel
