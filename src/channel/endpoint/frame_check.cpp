#include "channel/endpoint/frame_check.hpp"

#include <cstring>

#include "base/checksum.hpp"

namespace hawser::channel {

void seal_frame(std::span<std::byte> frame) {
  frame[offsetof(FramePrefix, check)] = std::byte{FramePrefix::checked};
  const std::size_t bytes = frame.size() - frame_check_bytes;
  const std::uint32_t checksum = base::checksum_of(frame.first(bytes));
  std::memcpy(frame.data() + bytes, &checksum, sizeof(checksum));
}

std::span<const std::byte> open_sealed_frame(std::span<const std::byte> frame) {
  if (frame.size() < sizeof(FramePrefix) + frame_check_bytes ||
      frame[offsetof(FramePrefix, check)] != std::byte{FramePrefix::checked})
    return {};
  const std::span<const std::byte> content = frame.first(frame.size() - frame_check_bytes);
  std::uint32_t checksum;
  std::memcpy(&checksum, frame.data() + content.size(), sizeof(checksum));
  return checksum == base::checksum_of(content) ? content : std::span<const std::byte>();
}

}  // namespace hawser::channel
