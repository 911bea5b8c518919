// The checksum of a frame, from the endpoint that sends it to the one that gets it, whatever lies
// between (the trailer in channel/frame.hpp); and BitFlipper, the fault by which tests see it work.
//
// Pure. Threads: the lane lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.hpp"
#include "channel/frame.hpp"

namespace hawser::channel {

inline constexpr std::size_t frame_check_bytes = sizeof(std::uint32_t);

/// Ends FRAME, which is whole but for its last frame_check_bytes.
void seal_frame(std::span<std::byte> frame);
/// FRAME without its checksum; empty if that is not right.
std::span<const std::byte> open_sealed_frame(std::span<const std::byte> frame);

/// Says which bits a test wants to arrive flipped: one in about every Nth thing that arrives, each
/// time at another place. Always the same ones, but in no rhythm that what is sent again could fall
/// into.
class BitFlipper {
 public:
  /// ONE_IN: N; 0: none at all.
  explicit BitFlipper(std::uint64_t one_in) : one_in_(one_in) {}

  /// Which bit of the BYTES that arrive now is to be flipped, if one is.
  std::optional<std::size_t> next(std::size_t bytes) {
    if (one_in_ == 0 || bytes == 0 || base::mix64(++arrivals_) % one_in_ != 0) return std::nullopt;
    return static_cast<std::size_t>(base::mix64(~arrivals_) % (bytes * 8));
  }
  static void flip(std::byte* bytes, std::size_t bit) {
    bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  }

 private:
  const std::uint64_t one_in_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace hawser::channel
