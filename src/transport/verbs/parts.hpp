// Parts: frames that are longer than a datagram and have to go by datagrams all the same, since the
// connection that carried them broke.
//
// Pure: parts in, whole frames out; parts may come late, twice and in any order, and those of
// several frames mixed. What is lost the layer above sends again, under the same number.
// Ownership: one per link that got such parts. Threads: the lane lock.
// Bounds:    frames_max frames at a time, of at most the bytes that the owner says; the oldest
// makes
//            room for another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

class PartAssembler {
 public:
  static constexpr std::size_t frames_max = 16;

  explicit PartAssembler(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  /// BYTES of a frame, as HEADER says. The frame, valid until the next call, if it is whole now;
  /// else nothing.
  std::span<const std::byte> add(const PartHeader& header, std::span<const std::byte> bytes) {
    if (header.total > frame_bytes_max_ || bytes.empty() || header.offset > header.total ||
        bytes.size() > header.total - header.offset)
      return {};
    Frame& frame = find(header);
    if (frame.bytes.size() != header.total) return {};
    if (std::ranges::find(frame.offsets, header.offset) == frame.offsets.end()) {
      std::memcpy(frame.bytes.data() + header.offset, bytes.data(), bytes.size());
      frame.offsets.push_back(header.offset);
      frame.missing -= std::min(frame.missing, bytes.size());
    }
    if (frame.missing > 0) return {};
    whole_ = std::move(frame.bytes);
    std::erase_if(frames_, [&](const Frame& each) { return each.id == header.id; });
    return whole_;
  }

 private:
  struct Frame {
    std::uint32_t id;
    std::vector<std::byte> bytes;
    std::vector<std::uint32_t> offsets;  // of the parts that are there
    std::size_t missing;
  };

  Frame& find(const PartHeader& header) {
    const auto known = std::ranges::find(frames_, header.id, &Frame::id);
    if (known != frames_.end()) return *known;
    if (frames_.size() == frames_max) frames_.pop_front();
    return frames_.emplace_back(
        Frame{header.id, std::vector<std::byte>(header.total), {}, header.total});
  }

  const std::size_t frame_bytes_max_;
  std::deque<Frame> frames_;
  std::vector<std::byte> whole_;
};

}  // namespace hawser::transport::verbs
