#include "channel/endpoint/frame_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace hawser::channel {
namespace {

std::vector<std::byte> sealed_frame(std::size_t body_bytes) {
  std::vector<std::byte> frame(sizeof(FramePrefix) + body_bytes + frame_check_bytes,
                               std::byte{0x17});
  const FramePrefix prefix{1, FramePrefix::current_version, FramePrefix::sequenced, 0, 42};
  std::memcpy(frame.data(), &prefix, sizeof(prefix));
  seal_frame(frame);
  return frame;
}

TEST(FrameCheck, OpensWhatItSealed) {
  for (const std::size_t body_bytes : {0U, 1U, 48U, 5000U}) {
    const std::vector<std::byte> frame = sealed_frame(body_bytes);
    const auto content = open_sealed_frame(frame);
    EXPECT_EQ(content.data(), frame.data());
    EXPECT_EQ(content.size(), sizeof(FramePrefix) + body_bytes);
  }
}

TEST(FrameCheck, NoFlippedBitPassesOrLooksLikeNoChecksum) {
  std::vector<std::byte> frame = sealed_frame(20);
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    BitFlipper::flip(frame.data(), bit);
    EXPECT_TRUE(open_sealed_frame(frame).empty()) << bit;
    EXPECT_NE(frame[offsetof(FramePrefix, check)], std::byte{0}) << bit;
    BitFlipper::flip(frame.data(), bit);
  }
  EXPECT_FALSE(open_sealed_frame(frame).empty());
}

TEST(FrameCheck, AFrameThatIsCutOffFails) {
  const std::vector<std::byte> frame = sealed_frame(20);
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes)
    EXPECT_TRUE(open_sealed_frame(std::span(frame).first(bytes)).empty()) << bytes;
}

TEST(BitFlipper, FlipsOneInAboutEveryNthAtManyPlaces) {
  BitFlipper flipper(3);
  BitFlipper same(3);
  std::set<std::size_t> places;
  int flipped = 0;
  for (int arrival = 1; arrival <= 3000; ++arrival) {
    const auto bit = flipper.next(16);
    EXPECT_EQ(bit, same.next(16));
    if (!bit) continue;
    ++flipped;
    places.insert(*bit);
    EXPECT_LT(*bit, 128U);
  }
  EXPECT_GT(flipped, 900);
  EXPECT_LT(flipped, 1100);
  EXPECT_GT(places.size(), 120U);
}

TEST(BitFlipper, FlipsNothingUnlessItIsTold) {
  BitFlipper flipper(0);
  for (int arrival = 0; arrival < 10; ++arrival) EXPECT_FALSE(flipper.next(16));
  EXPECT_FALSE(BitFlipper(1).next(0)) << "nothing is there";
}

}  // namespace
}  // namespace hawser::channel
