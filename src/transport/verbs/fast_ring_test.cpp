#include "transport/verbs/fast_ring.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::transport::verbs {
namespace {

/// Both ends of a ring, with memory in between that is written by hand.
struct Ring {
  static constexpr std::uint32_t slots = 4;
  static constexpr std::size_t slot_bytes = slot_bytes_for(100);

  explicit Ring(bool is_checked)
      : writer({0, 1, slots, slot_bytes}, is_checked), reader(memory, slots, is_checked) {}

  /// Frame NUMBER of BYTES; how much of it arrives is the caller's to say, from the front.
  RingWriter::Write write(std::size_t bytes, std::uint8_t number, std::size_t arriving = ~0UL) {
    frame.assign(bytes + 64, std::byte{number});
    const RingWriter::Write write = writer.take(frame.data(), bytes);
    std::memcpy(memory.data() + write.to, frame.data(), std::min(arriving, write.bytes));
    return write;
  }

  alignas(64) std::vector<std::byte> memory = std::vector<std::byte>(slots * slot_bytes);
  std::vector<std::byte> frame;
  RingWriter writer;
  RingReader reader;
};

TEST(FastRing, FramesOfAllLengthsPass) {
  Ring ring(true);
  for (std::size_t bytes = 0; bytes <= 100; ++bytes) {
    EXPECT_TRUE(ring.reader.front().empty());
    const auto write = ring.write(bytes, static_cast<std::uint8_t>(bytes));
    if (bytes > 0) {
      ASSERT_EQ(ring.reader.front().size(), bytes);
      EXPECT_EQ(ring.reader.front().back(), std::byte(bytes));
    }
    ring.reader.pop();
    ring.writer.free(write.slot);
  }
}

TEST(FastRing, ASmallFrameIsOneCacheLine) {
  Ring ring(false);
  const auto write = ring.write(32, 1);
  EXPECT_LE(write.bytes, 64U);
  EXPECT_EQ((write.to + write.bytes) % 64, 0U);
}

TEST(FastRing, TheWriterStopsAtASlotThatIsNotFree) {
  Ring ring(false);
  for (std::uint32_t i = 0; i < Ring::slots; ++i) {
    ASSERT_TRUE(ring.writer.has_room());
    ring.write(8, 1);
  }
  EXPECT_FALSE(ring.writer.has_room());
  ring.writer.free(1);
  EXPECT_FALSE(ring.writer.has_room()) << "slots are filled in turn";
  ring.writer.free(0);
  EXPECT_TRUE(ring.writer.has_room());
}

TEST(FastRing, WithoutItsLastBytesAFrameIsNotThere) {
  Ring ring(false);
  ring.write(40, 1, 48);
  EXPECT_TRUE(ring.reader.front().empty());
}

TEST(FastRing, AChecksumTellsAFrameThatIsNotAllThere) {
  Ring ring(true);
  const auto write = ring.write(40, 7);
  ring.memory[write.to + 3] = std::byte{0};  // comes late
  EXPECT_TRUE(ring.reader.front().empty());
  ring.memory[write.to + 3] = std::byte{7};
  EXPECT_EQ(ring.reader.front().size(), 40U);
}

TEST(FastRing, ALengthBeyondTheSlotIsNotBelieved) {
  Ring ring(false);
  const auto write = ring.write(8, 1);
  SlotTrailer trailer{.bytes = 1 << 20, .turn = 1};
  std::memcpy(ring.memory.data() + write.to + 8, &trailer, sizeof(trailer));
  EXPECT_TRUE(ring.reader.front().empty());
}

}  // namespace
}  // namespace hawser::transport::verbs
