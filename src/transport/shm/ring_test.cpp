#include "transport/shm/ring.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <thread>

#include "transport/recording_sink.hpp"

namespace hawser::transport::shm {
namespace {

struct Free {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};

/// A ring in private, zeroed memory, with what its two ends know of the pair's cells.
struct Ring {
  explicit Ring(RingShape ring_shape, Claiming claiming = Claiming::by_store)
      : Ring(ring_shape, senders_own, receivers_own, claiming) {}
  /// Of two that have another ring already.
  Ring(RingShape ring_shape, Cells& of_sender, Cells& of_receiver,
       Claiming claiming = Claiming::by_store)
      : shape(ring_shape),
        memory(static_cast<std::byte*>(
            ::operator new[](ring_shape.whole_bytes(), std::align_val_t{64}))),
        senders_cells(of_sender),
        receivers_cells(of_receiver),
        sender(memory.get(), shape, senders_cells, claiming) {
    std::memset(memory.get(), 0, shape.whole_bytes());
  }
  RingLine& line(std::size_t index) {
    return reinterpret_cast<RingLine*>(memory.get() + sizeof(RingHeader))[index];
  }

  RingShape shape;
  std::unique_ptr<std::byte, Free> memory;
  Cells senders_own;
  Cells receivers_own;
  Cells& senders_cells;
  Cells& receivers_cells;
  RingSender sender;
  RingReceiver receiver{memory.get(), shape, receivers_cells};
};

/// Of the frames that send() sends.
constexpr std::size_t head_bytes = 24;

bool send(RingSender& sender, std::size_t bytes, std::uint64_t number, std::size_t phase = 0,
          std::size_t its_head_bytes = head_bytes) {
  its_head_bytes = std::min(its_head_bytes, bytes);
  const FrameRoom room = sender.reserve(its_head_bytes, bytes - its_head_bytes, phase);
  if (room.head == nullptr) return false;
  std::vector<std::byte> frame(bytes);
  make_frame(frame, number);
  std::copy_n(frame.data(), its_head_bytes, room.head);
  std::copy(frame.begin() + static_cast<std::ptrdiff_t>(its_head_bytes), frame.end(), room.payload);
  sender.commit();
  return true;
}

/// Whether there is a frame at the front, and which.
bool look(RingReceiver& receiver, FrameType* type, FrameView* frame) {
  frame->head = receiver.front(type, &frame->payload);
  return !frame->head.empty();
}

/// Where its payload lies, or all of it.
const std::byte* place_of(const FrameView& frame) {
  return frame.payload.empty() ? frame.head.data() : frame.payload.data();
}

TEST(RingShape, FramesFitSeveralTimesAndIntoTheControlWord) {
  EXPECT_EQ((RingShape{64, 65536, 0}).frame_bytes_max(), 16384U);
  EXPECT_EQ((RingShape{64, 64, 0}).frame_bytes_max(), line_frame_bytes);
  const std::size_t longest = RingShape{64, 0xffffffc0U, 0}.frame_bytes_max();
  const std::uint64_t control =
      ring_control::make(FrameType::ring_extended, longest, head_bytes_max, 56) |
      ring_control::stamp_of(5);
  EXPECT_EQ(ring_control::bytes(control), longest);
  EXPECT_EQ(ring_control::head(control), head_bytes_max);
  EXPECT_EQ(ring_control::type(control), FrameType::ring_extended);
  EXPECT_EQ(ring_control::phase(control), 56U);
  EXPECT_EQ(ring_control::stamp(control), 6U);
}

TEST(RingShape, FramesOfALongAreaAreLongerIfEightOfThemFit) {
  EXPECT_EQ((RingShape{64, 65536, 1 << 20}).extended_frame_bytes_max(), long_area_frame_bytes_max);
  EXPECT_EQ((RingShape{64, 16384, 1 << 16}).extended_frame_bytes_max(), 8192U);
  EXPECT_EQ((RingShape{64, 65536, 64}).extended_frame_bytes_max(), 16384U);
}

TEST(Ring, PayloadOfLongerFramesBeginsWhereTheSenderWishes) {
  Ring ring({16, 32768, 65536});
  for (const bool extended : {false, true}) {
    if (extended) {
      ring.receiver.extend();
      ring.sender.extend();
    }
    for (std::size_t phase = 0; phase < cache_line_bytes; phase += 8) {
      for (const std::size_t bytes : {line_frame_bytes + 1, 1000UL, long_frame_bytes, 8000UL}) {
        ASSERT_TRUE(send(ring.sender, bytes, bytes, phase));
        FrameType type;
        FrameView frame;
        ASSERT_TRUE(look(ring.receiver, &type, &frame));
        EXPECT_EQ(frame.head.size(), head_bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.payload.data()) % cache_line_bytes, phase);
        EXPECT_EQ(check_frame(whole(frame)), bytes);
        ring.receiver.pop();
      }
    }
  }
}

TEST(Ring, HeadsLieBesideTheControlWordIfTheyFit) {
  Ring ring({16, 32768, 65536, 2});
  for (const bool extended : {false, true}) {
    if (extended) {
      ring.receiver.extend();
      ring.sender.extend();
    }
    for (const std::size_t bytes : {8U, 16U, 20U, 24U, 48U, 49U, 52U, 56U, 72U, 500U}) {
      ASSERT_TRUE(send(ring.sender, 8000, bytes, 8, bytes));
      FrameType type;
      FrameView frame;
      ASSERT_TRUE(look(ring.receiver, &type, &frame));
      const bool is_apart = bytes % 8 == 0 && bytes <= head_bytes_max;
      EXPECT_EQ(frame.head.size(), is_apart ? bytes : 8000) << bytes;
      EXPECT_EQ(check_frame(whole(frame)), bytes);
      ring.receiver.pop();
    }
  }
}

TEST(Ring, FramesAroundTheLinesEnd) {
  Ring ring({16, 4096, 0});
  for (std::size_t bytes = line_frame_bytes - 2; bytes < line_frame_bytes + 70; ++bytes) {
    ASSERT_TRUE(send(ring.sender, bytes, bytes));
    FrameType type;
    FrameView frame;
    ASSERT_TRUE(look(ring.receiver, &type, &frame));
    EXPECT_EQ(type, FrameType::data);
    EXPECT_EQ(frame.size(), bytes);
    EXPECT_EQ(check_frame(whole(frame)), bytes);
    const bool is_in_line =
        place_of(frame) < ring.memory.get() + sizeof(RingHeader) + 16 * sizeof(RingLine);
    EXPECT_EQ(is_in_line, bytes <= line_frame_bytes);
    ring.receiver.pop();
  }
}

TEST(Ring, TheReceiverTellsTheSenderHowMessagesThatCrossGo) {
  Ring ring({16, 4096, 0});
  EXPECT_EQ(ring.sender.one_copy_word(), 0U);
  ring.receiver.say_one_copy_word(5);
  EXPECT_EQ(ring.sender.one_copy_word(), 5U);
  ring.receiver.say_one_copy_word(0);
  EXPECT_EQ(ring.sender.one_copy_word(), 0U);
}

TEST(Ring, AnEmptyRingHasNoFrame) {
  Ring ring({4, 256, 0});
  FrameType type;
  FrameView frame;
  EXPECT_FALSE(look(ring.receiver, &type, &frame));
  ASSERT_NE(ring.sender.reserve(8).head, nullptr);
  EXPECT_FALSE(look(ring.receiver, &type, &frame));
}

struct RingCase {
  RingShape shape;
  std::size_t bytes_max;
};

constexpr std::array both_claimings{Claiming::by_store, Claiming::by_asking};

class RingProperty : public ::testing::TestWithParam<RingCase> {};

/// Random sends and receives against a queue of what was sent. A ring that can have a long area
/// gets it on the way.
TEST_P(RingProperty, BehavesLikeABoundedQueue) {
  const auto [shape, bytes_max] = GetParam();
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::mt19937 random(seed);
    Ring ring(shape, both_claimings[seed % 2]);
    std::deque<std::pair<std::size_t, std::uint64_t>> model;
    std::uint64_t sent = 0;
    for (int step = 0; step < 3000; ++step) {
      if (step == 500 && shape.long_bytes > 0) {
        ring.receiver.extend();
        ring.sender.extend();
      }
      if (random() % 2 == 0) {
        // Before it is extended, what several of fit into the bulk area.
        const std::size_t most =
            ring.sender.is_extended() ? bytes_max : std::min(bytes_max, shape.frame_bytes_max());
        const std::size_t bytes = 8 + random() % (most - 7);
        const std::size_t phase = bytes > 200 ? random() % 8 * 8 : 0;
        if (send(ring.sender, bytes, sent, phase)) {
          model.emplace_back(bytes, sent++);
        } else {
          ASSERT_FALSE(model.empty()) << "an empty ring has room";
        }
        ASSERT_LE(model.size(), shape.line_count);
        continue;
      }
      FrameType type;
      FrameView frame;
      const bool has_frame = look(ring.receiver, &type, &frame);
      ASSERT_EQ(has_frame, !model.empty());
      if (!has_frame) continue;
      ASSERT_EQ(frame.size(), model.front().first);
      ASSERT_EQ(check_frame(whole(frame)), model.front().second) << "seed " << seed;
      ring.receiver.pop();
      model.pop_front();
      // An idle receiver says how far it is.
      if (model.empty()) {
        ASSERT_FALSE(look(ring.receiver, &type, &frame));
      }
    }
    EXPECT_GT(sent, 500U);
  }
}

TEST_P(RingProperty, TwoThreadsSeeTheSameFrames) {
  const auto [shape, bytes_max] = GetParam();
  constexpr std::uint64_t frames = 5'000;
  for (const Claiming claiming : both_claimings) {
    Ring ring(shape, claiming);
    if (shape.long_bytes > 0) {
      ring.receiver.extend();
      ring.sender.extend();
    }
    std::thread sender([&ring, bytes_max = bytes_max] {
      std::mt19937 random(1);
      for (std::uint64_t i = 0; i < frames; ++i) {
        const std::size_t bytes = 8 + random() % (bytes_max - 7);
        while (!send(ring.sender, bytes, i)) ::sched_yield();
      }
    });
    std::mt19937 random(1);
    std::uint64_t damaged = 0;
    for (std::uint64_t i = 0; i < frames; ++i) {
      FrameType type;
      FrameView frame;
      while (!look(ring.receiver, &type, &frame)) ::sched_yield();
      const std::size_t bytes = 8 + random() % (bytes_max - 7);
      if (frame.size() != bytes || check_frame(whole(frame)) != i) ++damaged;
      ring.receiver.pop();
    }
    sender.join();
    EXPECT_EQ(damaged, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RingProperty,
    ::testing::Values(RingCase{{64, 65536, 0}, 56}, RingCase{{64, 65536, 0}, 16384},
                      RingCase{{4, 4096, 0}, 1024}, RingCase{{1, 256, 0}, 64},
                      RingCase{{2, 256, 0}, 64}, RingCase{{8, 1024, 0}, 200},
                      RingCase{{64, 1024, 0}, 256}, RingCase{{64, 65536, 65536}, 12000},
                      RingCase{{64, 65536, 65536, 8}, 12000}, RingCase{{64, 4096, 65536, 2}, 8192},
                      RingCase{{4, 32768, 16384}, 8192}));

/// Control words that no sender means: whatever they say, the frame lies inside the ring.
TEST(RingUntrusted, NoLengthLeadsOutOfTheRing) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    Ring ring({8, 512, 16384, 2});
    if (seed % 2 == 1) ring.receiver.extend();
    for (std::uint64_t position = 0; position < 200; ++position) {
      const std::uint64_t garbage = seed == 0 ? ~0ULL : random() >> random() % 40;
      RingLine& line = ring.line(position % 8);
      const auto cell = static_cast<CellName>(random() % 4 << 30 | random() % 3);
      std::memcpy(line.frame + head_bytes_max, &cell, sizeof(cell));
      line.control = (garbage << 32) | static_cast<std::uint32_t>(position + 1);
      FrameType type;
      FrameView frame;
      ASSERT_TRUE(ring.receiver.has_front());
      look(ring.receiver, &type, &frame);
      for (const std::span<const std::byte> part : {frame.head, frame.payload}) {
        if (part.empty()) continue;
        ASSERT_GE(part.data(), ring.memory.get());
        ASSERT_LE(part.data() + part.size(), ring.memory.get() + ring.shape.whole_bytes());
      }
      ring.receiver.pop();
      ring.receiver.ask_ahead();
    }
  }
}

/// A frame goes through RING; where it lay.
const std::byte* pass(Ring& ring, std::size_t bytes) {
  EXPECT_TRUE(send(ring.sender, bytes, bytes));
  FrameType type;
  FrameView frame;
  EXPECT_TRUE(look(ring.receiver, &type, &frame));
  EXPECT_EQ(type, FrameType::data);
  EXPECT_EQ(check_frame(whole(frame)), bytes);
  ring.receiver.pop();
  return place_of(frame);
}

TEST(Ring, LongFramesGoToTheLongArea) {
  Ring ring({16, 32768, 65536});
  const auto lies_in_long_area = [&](std::size_t bytes) {
    const std::byte* const place = pass(ring, bytes);
    return place >= ring.memory.get() + ring.shape.bytes();
  };
  constexpr std::size_t shortest = head_bytes + long_frame_bytes;
  EXPECT_FALSE(lies_in_long_area(shortest));
  ring.receiver.extend();
  ring.sender.extend();
  EXPECT_TRUE(lies_in_long_area(shortest));
  EXPECT_FALSE(lies_in_long_area(shortest - 1));
  EXPECT_FALSE(lies_in_long_area(8));
}

TEST(Ring, FramesOfOneOrTwoKiBThatFollowEachOtherGoToTheLongArea) {
  Ring ring({16, 32768, 65536});
  ring.receiver.extend();
  ring.sender.extend();
  const auto lies_in_long_area = [&](std::size_t bytes) {
    return pass(ring, bytes) >= ring.memory.get() + ring.shape.bytes();
  };
  constexpr std::size_t shortest = head_bytes + row_frame_bytes_min;
  EXPECT_FALSE(lies_in_long_area(shortest)) << "it follows none";
  for (int i = 0; i < 4; ++i) pass(ring, 8);
  EXPECT_TRUE(lies_in_long_area(shortest));
  EXPECT_FALSE(lies_in_long_area(shortest - 1));
  ring.sender.note_answer();
  EXPECT_FALSE(lies_in_long_area(shortest));
}

TEST(Ring, RowsOfAnyLengthArriveUnchanged) {
  // Some of them are written past the caches, which claims lines of the next frame as well.
  constexpr std::size_t phase = 24;
  Ring ring({16, 32768, 65536});
  ring.receiver.extend();
  ring.sender.extend();
  int past_cache = 0;
  for (std::uint64_t number = 0; number < 4000; number += 2) {
    const std::size_t bytes = head_bytes + row_frame_bytes_min + number / 3;
    ASSERT_TRUE(send(ring.sender, bytes, number, number % 4 == 0 ? 0 : phase));
    past_cache += static_cast<int>(ring.sender.is_reserved_past_cache());
    ASSERT_TRUE(send(ring.sender, bytes, number + 1));
    for (const std::uint64_t sent : {number, number + 1}) {
      FrameType type;
      FrameView frame;
      ASSERT_TRUE(look(ring.receiver, &type, &frame));
      ASSERT_EQ(frame.size(), bytes);
      ASSERT_EQ(check_frame(whole(frame)), sent) << bytes;
      ring.receiver.pop();
    }
  }
  EXPECT_GT(past_cache, 0) << "at least in trials";
}

/// Two that each have a ring to the other, of which the first has cells.
struct Exchange {
  static constexpr RingShape shape{16, 32768, 65536, 2};

  Exchange() {
    there.receiver.extend();
    there.sender.extend();
  }
  /// Whether a frame through RING lies in a cell. It answers what came the other way.
  bool lies_in_cell(Ring& ring, std::size_t bytes) {
    const std::byte* const place = pass(ring, bytes);
    (&ring == &there ? back : there).sender.note_answer();
    const std::byte* const cells = there.memory.get() + shape.cells_offset();
    return place >= cells && place < cells + shape.cells * cell_bytes;
  }

  Ring there{shape};
  Ring back{{16, 32768, 65536}, there.receivers_cells, there.senders_cells};
};

TEST(Ring, ItsSenderKnowsWhetherTheReceiverAnswers) {
  Ring ring({16, 32768, 65536});
  EXPECT_FALSE(ring.sender.is_answered());
  pass(ring, 8);
  EXPECT_TRUE(ring.sender.is_answered()) << "whatever comes is an answer";
  ring.sender.note_answer();
  EXPECT_TRUE(ring.sender.is_answered()) << "that was one";
  ring.sender.note_answer();
  EXPECT_FALSE(ring.sender.is_answered()) << "the second in a row";
  pass(ring, 8);
  EXPECT_TRUE(ring.sender.is_answered());
}

TEST(Ring, LongFramesGoToAndFroInCells) {
  Exchange exchange;
  EXPECT_FALSE(exchange.lies_in_cell(exchange.back, long_frame_bytes)) << "there has none";
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(exchange.lies_in_cell(exchange.there, long_frame_bytes));
    EXPECT_FALSE(exchange.lies_in_cell(exchange.there, line_frame_bytes));
    EXPECT_TRUE(exchange.lies_in_cell(exchange.there, 8192));
    EXPECT_FALSE(exchange.lies_in_cell(exchange.there, 8192)) << "there are two";
    EXPECT_TRUE(exchange.lies_in_cell(exchange.back, line_frame_bytes + 1));
    EXPECT_TRUE(exchange.lies_in_cell(exchange.back, 8192));
    EXPECT_FALSE(exchange.lies_in_cell(exchange.back, 8192));
  }
}

TEST(Ring, ShortFramesThatFollowEachOtherNeedNoCells) {
  Exchange exchange;
  for (int i = 0; i < 4; ++i) pass(exchange.there, 8);
  EXPECT_FALSE(exchange.lies_in_cell(exchange.there, line_frame_bytes + 1));
  EXPECT_TRUE(exchange.lies_in_cell(exchange.there, 400)) << "it is longer";
  pass(exchange.back, 8);
  exchange.there.sender.note_answer();
  EXPECT_TRUE(exchange.lies_in_cell(exchange.there, line_frame_bytes + 1));
}

TEST(Ring, ItsSenderKnowsWhetherCellsOfItsSegmentAreRead) {
  Exchange exchange;
  EXPECT_TRUE(exchange.lies_in_cell(exchange.there, 8192));
  EXPECT_FALSE(exchange.there.sender.has_own_cells_under_way()) << "the cell is the receiver's";
  ASSERT_TRUE(send(exchange.back.sender, 8192, 1));
  ASSERT_TRUE(send(exchange.back.sender, 8, 2));
  EXPECT_TRUE(exchange.back.sender.has_own_cells_under_way());
  FrameType type;
  FrameView frame;
  ASSERT_TRUE(look(exchange.back.receiver, &type, &frame));
  exchange.back.receiver.pop();
  exchange.back.receiver.rest();
  EXPECT_FALSE(exchange.back.sender.has_own_cells_under_way());
}

TEST(RingUntrusted, AReceiverThatClaimsTooMuchIsNotBelieved) {
  Ring ring({4, 256, 0});
  auto* header = reinterpret_cast<RingHeader*>(ring.memory.get());
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(send(ring.sender, 8, i));
  header->consumed = 1000;
  EXPECT_FALSE(send(ring.sender, 8, 4));
  header->consumed = ~0ULL;
  EXPECT_FALSE(send(ring.sender, 8, 4));
  header->consumed = 1;
  EXPECT_TRUE(send(ring.sender, 8, 4));
  header->consumed = 0;
  EXPECT_FALSE(send(ring.sender, 8, 5));
}

}  // namespace
}  // namespace hawser::transport::shm
