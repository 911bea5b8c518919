// The frames that endpoints exchange among themselves, past the layer above. Each follows the eight
// bytes of FramePrefix; its class byte has bit 7 set.
//
// acknowledgement (not sequenced):
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------------------------------------------------------+
//   | expected: every frame before this number has arrived          |
//   +---------------------------------------------------------------+
//   | window: frames from there on that may be on their way         |
//   +---------------------------------------------------------------+
//   | early (64): bit i says that frame expected + 1 + i has arrived|
//   |                                                               |
//   +---------------------------------------------------------------+
// question (not sequenced): nothing; the receiver shall send an acknowledgement
// damaged (not sequenced): | number that the frame had which failed its checksum (32) | 0 (32) |;
//   the number may be damaged too
// parting (sequenced): nothing; the sender's last frame, unless it comes back
// (transport::void_frame_class, 0xff, sequenced: nothing at all; it has but a number)
//
// All fields are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "channel/frame.hpp"
#include "delivery/retransmit/acknowledgement.hpp"

namespace hawser::channel {

enum class ControlClass : std::uint8_t {
  acknowledgement = 0x80,
  question = 0x81,
  parting = 0x82,
  damaged = 0x83,
};

/// The frame is for endpoints, not for the layer above.
constexpr bool is_control(std::byte frame_class) {
  return (frame_class & std::byte{FramePrefix::control_bit}) != std::byte{0};
}

static_assert(sizeof(delivery::Acknowledgement) == 16);
inline constexpr std::size_t acknowledgement_bytes =
    sizeof(FramePrefix) + sizeof(delivery::Acknowledgement);

/// BODY: what follows the prefix. Nothing if it is malformed.
inline std::optional<delivery::Acknowledgement> parse_acknowledgement(
    std::span<const std::byte> body) {
  delivery::Acknowledgement acknowledgement;
  if (body.size() != sizeof(acknowledgement)) return std::nullopt;
  std::memcpy(&acknowledgement, body.data(), sizeof(acknowledgement));
  if (acknowledgement.window == 0) return std::nullopt;
  return acknowledgement;
}

struct DamageReport {
  std::uint32_t sequence;
  std::uint32_t reserved;
};
static_assert(sizeof(DamageReport) == 8);

}  // namespace hawser::channel
