// The first eight bytes of every frame that an endpoint sends, on every transport.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------+---------------+---------------+---------------+
//   | class         | version (2)   | flags         | check         |
//   +---------------+---------------+---------------+---------------+
//   | sequence number (little-endian; 0 if not sequenced)           |
//   +---------------------------------------------------------------+
//   | body: what the class says                                     |
//   +---------------------------------------------------------------+
//   | where check says so: CRC32C of all before it (little-endian)  |
//   +---------------------------------------------------------------+
//
// class: an active-message class of the layer above. flags bit 0: sequenced, that is, delivered in
// the order of the numbers whatever channel it comes by. check: 0, or FramePrefix::checked, which
// no flipped bit turns into the other; anything else is damage. A frame says itself whether it has
// a checksum, since it may be sent again by another channel than the one that it left by first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hawser::channel {

static_assert(std::endian::native == std::endian::little,
              "wire fields are little-endian; a big-endian host needs conversions");

struct FramePrefix {
  static constexpr std::uint8_t current_version = 3;
  static constexpr std::uint8_t sequenced = 1;
  static constexpr std::uint8_t checked = 0xc3;
  static constexpr std::uint8_t control_bit = 0x80;  // in classes of the channel layer

  std::uint8_t frame_class;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint8_t check;
  std::uint32_t sequence;

  /// A frame of the layer above, numbered, and with nothing to be checked.
  [[nodiscard]] bool is_plain() const {
    constexpr std::uint32_t wanted = (std::uint32_t{sequenced} << 16) | (current_version << 8);
    constexpr std::uint32_t any_class = control_bit - 1;
    std::uint32_t all_but_sequence;
    std::memcpy(&all_but_sequence, this, sizeof(all_but_sequence));
    return (all_but_sequence & ~any_class) == wanted;
  }
};
static_assert(sizeof(FramePrefix) == 8);

}  // namespace hawser::channel
