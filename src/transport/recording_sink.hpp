// RecordingSink: a Sink for tests that writes down what a transport told it.
//
// Frames are checked where they arrive: whole, and filled as make_frame() fills them.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.hpp"

namespace hawser::transport {

/// The word at OFFSET of frame NUMBER: the number itself, then words that depend on both.
constexpr std::uint64_t frame_word(std::uint64_t number, std::size_t offset) {
  return number + offset * 0x9e3779b97f4a7c15ULL;
}

/// Fills a frame of at least 8 bytes.
inline void make_frame(std::span<std::byte> frame, std::uint64_t number) {
  for (std::size_t offset = 0; offset < frame.size(); offset += sizeof(number)) {
    const std::uint64_t word = frame_word(number, offset);
    std::memcpy(frame.data() + offset, &word, std::min(sizeof(word), frame.size() - offset));
  }
}

/// A frame in one piece.
inline std::vector<std::byte> whole(const FrameView& frame) {
  std::vector<std::byte> bytes(frame.head.begin(), frame.head.end());
  bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  return bytes;
}

/// The number of a frame that make_frame() filled; nothing if it is damaged.
inline std::optional<std::uint64_t> check_frame(std::span<const std::byte> frame) {
  std::uint64_t number = 0;
  if (frame.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, frame.data(), sizeof(number));
  for (std::size_t offset = 0; offset < frame.size(); offset += sizeof(number)) {
    const std::uint64_t word = frame_word(number, offset);
    if (std::memcmp(frame.data() + offset, &word, std::min(sizeof(word), frame.size() - offset)) !=
        0)
      return std::nullopt;
  }
  return number;
}

class RecordingSink : public Sink {
 public:
  struct Arrival {
    Link* link;
    ChannelKind kind;
    std::size_t bytes;
    std::uint64_t number;
  };

  void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) override {
    const auto number = check_frame(frame);
    if (!number) ++damaged;
    arrivals.push_back({&link, kind, frame.size(), number.value_or(0)});
    if (ends_turns) end_turn();
  }
  void on_frame_apart(Link& link, ChannelKind kind, const FrameView& frame) override {
    on_frame(link, kind, whole(frame));
  }
  void on_link(Link& link, const Identity& peer) override {
    links.push_back(&link);
    peers.push_back(peer);
  }
  bool on_channel_asked(Link&, ChannelKind) override {
    ++asked;
    return grants;
  }
  void on_channels_changed(Link&) override { ++channels_changed; }
  void on_link_state(Link& link) override { states.push_back(link.is_up()); }
  void on_channel_refused(Link&, ChannelKind) override { ++refused; }
  void on_channel_given_back(Link&, ChannelKind) override { ++given_back; }
  void on_channel_recalled(Link&, ChannelKind) override { ++recalled; }
  void on_undelivered(Link&, ChannelSet kinds) override { undelivered.push_back(kinds); }
  void on_operation_done(Link&, std::uint64_t token, bool was_done) override {
    operations.emplace_back(token, was_done);
  }
  void on_clearance(Link&, std::uint64_t token, const Clearance& clearance) override {
    clearances.emplace_back(token, clearance);
  }
  void on_lost(Link&, std::string_view cause) override { lost.emplace_back(cause); }

  bool grants = true;
  std::vector<Arrival> arrivals;
  std::vector<Link*> links;
  std::vector<Identity> peers;
  std::vector<std::string> lost;
  std::vector<ChannelSet> undelivered;
  std::vector<bool> states;  // of links that came up or went down
  std::vector<std::pair<std::uint64_t, bool>> operations;
  std::vector<std::pair<std::uint64_t, Clearance>> clearances;
  bool ends_turns = false;  // after each frame
  int damaged = 0;
  int asked = 0;
  int channels_changed = 0;
  int refused = 0;
  int given_back = 0;
  int recalled = 0;
};

}  // namespace hawser::transport
