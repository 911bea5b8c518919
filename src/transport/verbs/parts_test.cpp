#include "transport/verbs/parts.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace hawser::transport::verbs {
namespace {

constexpr std::size_t part_bytes = 100;

std::vector<std::byte> frame_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> frame(bytes);
  for (std::size_t i = 0; i < bytes; ++i) frame[i] = std::byte(i * 7 + seed);
  return frame;
}

std::span<const std::byte> give(PartAssembler& parts, std::uint32_t id,
                                const std::vector<std::byte>& frame, std::size_t offset) {
  const PartHeader header{.id = id,
                          .offset = static_cast<std::uint32_t>(offset),
                          .total = static_cast<std::uint32_t>(frame.size())};
  return parts.add(header,
                   std::span(frame).subspan(offset, std::min(part_bytes, frame.size() - offset)));
}

TEST(Parts, LateTwiceAndMixedTheyBecomeTheirFrames) {
  std::mt19937 random(1);
  PartAssembler parts(4096);
  for (unsigned round = 0; round < 50; ++round) {
    const std::vector frames = {frame_of(1234, round), frame_of(4096, round + 1)};
    std::vector<std::pair<std::uint32_t, std::size_t>> sent;
    for (std::uint32_t i = 0; i < 2; ++i)
      for (std::size_t offset = 0; offset < frames[i].size(); offset += part_bytes) {
        sent.emplace_back(i, offset);
        if (random() % 4 == 0) sent.emplace_back(i, offset);
      }
    std::shuffle(sent.begin(), sent.end(), random);
    std::vector<int> whole(2);
    for (const auto& [i, offset] : sent) {
      const auto frame = give(parts, 2 * round + i, frames[i], offset);
      if (frame.empty()) continue;
      ++whole[i];
      EXPECT_TRUE(std::ranges::equal(frame, frames[i]));
    }
    EXPECT_EQ(whole, (std::vector<int>{1, 1}));
  }
}

TEST(Parts, AFrameThatIsNeverWholeMakesRoomForOthers) {
  PartAssembler parts(4096);
  const auto frame = frame_of(150, 1);
  for (std::uint32_t id = 1; id <= 1000; ++id) EXPECT_TRUE(give(parts, id, frame, 0).empty());
  EXPECT_FALSE(give(parts, 1000, frame, 100).empty());
  EXPECT_TRUE(give(parts, 1, frame, 100).empty()) << "forgotten long ago";
}

TEST(Parts, WhatDoesNotFitIsDropped) {
  PartAssembler parts(4096);
  const auto frame = frame_of(200, 1);
  EXPECT_TRUE(parts.add({.id = 1, .offset = 0, .total = 5000}, frame).empty()) << "too long";
  EXPECT_TRUE(parts.add({.id = 1, .offset = 150, .total = 200}, frame).empty()) << "beyond its end";
  EXPECT_TRUE(parts.add({.id = 1, .offset = 0xffff'fff0, .total = 200}, frame).empty());
  EXPECT_TRUE(parts.add({.id = 1, .offset = 0, .total = 0}, {}).empty());
  EXPECT_TRUE(give(parts, 2, frame, 0).empty());
  EXPECT_TRUE(
      parts.add({.id = 2, .offset = 100, .total = 300}, std::span(frame).first(100)).empty())
      << "of another length than before";
  EXPECT_FALSE(give(parts, 2, frame, 100).empty());
}

}  // namespace
}  // namespace hawser::transport::verbs
