// Parts of a peer's memory that are read over the connection.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "transport/tcp/test_end.hpp"

namespace hawser::transport::tcp {
namespace {

using TcpEnd = End<>;
using Done = std::vector<std::pair<std::uint64_t, bool>>;

constexpr ChannelKind frames = ChannelKind::tcp;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 13);
  return made;
}
std::uint64_t address_of(const std::vector<std::byte>& memory) {
  return reinterpret_cast<std::uint64_t>(memory.data());
}

class TcpReads : public ::testing::Test {
 protected:
  void SetUp() override {
    link = &reader.connect(owner);
    settle(reader, owner);
    back = owner.sink.links.at(0);
  }
  /// Reads BYTES from OFFSET of FROM, under KEY, to TO.
  bool start(const std::vector<std::byte>& from, std::size_t offset, std::uint32_t key,
             std::vector<std::byte>& to, std::uint64_t token) {
    return link->start({.kind = Operation::Kind::get,
                        .local_address = address_of(to),
                        .remote_key = key,
                        .remote_address = address_of(from) + offset,
                        .bytes = to.size(),
                        .token = token});
  }

  TcpEnd reader{0};
  TcpEnd owner{1};
  TcpLink* link = nullptr;
  Link* back = nullptr;
};

TEST_F(TcpReads, OfEveryLengthBringWhatIsThereInOrder) {
  const std::vector<std::byte> memory = pattern(3 * data_bytes_max + 5, 1);
  const auto held = back->hold(address_of(memory), memory.size());
  ASSERT_TRUE(held.ok());
  const std::uint32_t key = (*held)->remote_key();
  constexpr std::array<std::size_t, 11> sizes = {
      1, 7, 8, 9, 4095, 4096, 5000, data_bytes_max, data_bytes_max + 1, 2 * data_bytes_max + 3, 16};
  std::vector<std::vector<std::byte>> places;
  Done expected;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    places.emplace_back(sizes[i]);
    ASSERT_TRUE(start(memory, i, key, places[i], i));
    expected.emplace_back(i, true);
  }
  EXPECT_TRUE(reader.sink.operations.empty()) << "never from inside a start";
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, expected);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(std::memcmp(places[i].data(), memory.data() + i, sizes[i]), 0) << sizes[i];
}

TEST_F(TcpReads, LetFramesThroughInBothDirections) {
  const std::vector<std::byte> memory = pattern(8 * data_bytes_max + 1, 2);
  const auto held = back->hold(address_of(memory), memory.size());
  std::vector<std::byte> place(memory.size());
  std::uint64_t sent = 0;
  const auto send = [&](Link& by) {
    std::byte* const frame = by.reserve(frames, 40'000);
    if (frame == nullptr) return;
    make_frame({frame, 40'000}, sent++);
    by.commit(frames);
    by.release(frames, frame);
  };
  ASSERT_TRUE(start(memory, 0, (*held)->remote_key(), place, 7));
  for (int i = 0; i < 20; ++i) {
    send(*back);
    send(*link);
    owner.transport->progress();
    reader.transport->progress();
  }
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, (Done{{7, true}}));
  EXPECT_EQ(place, memory);
  EXPECT_EQ(reader.sink.arrivals.size() + owner.sink.arrivals.size(), sent);
  EXPECT_EQ(reader.sink.damaged + owner.sink.damaged, 0);
}

TEST_F(TcpReads, OfWhatWasNotExportedAreRefusedAndLaterOnesServed) {
  const std::vector<std::byte> memory = pattern(1000, 3);
  const auto held = back->hold(address_of(memory) + 100, 800);
  const std::uint32_t key = (*held)->remote_key();
  std::vector<std::byte> place(800);
  std::vector<std::byte> longer(801);
  EXPECT_TRUE(start(memory, 100, key + 1, place, 0));
  EXPECT_TRUE(start(memory, 99, key, place, 1));
  EXPECT_TRUE(start(memory, 101, key, place, 2));
  EXPECT_TRUE(start(memory, 100, key, longer, 3));
  EXPECT_TRUE(start(memory, std::size_t{0} - address_of(memory), key, place, 4));
  EXPECT_TRUE(start(memory, 100, key, place, 5));
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations,
            (Done{{0, false}, {1, false}, {2, false}, {3, false}, {4, false}, {5, true}}));
  EXPECT_EQ(std::memcmp(place.data(), memory.data() + 100, place.size()), 0);
}

TEST_F(TcpReads, OfWhatWasLetGoAreRefused) {
  const std::vector<std::byte> memory = pattern(1000, 4);
  auto held = back->hold(address_of(memory), memory.size());
  const std::uint32_t key = (*held)->remote_key();
  held->reset();
  std::vector<std::byte> place(1000);
  EXPECT_TRUE(start(memory, 0, key, place, 1));
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, (Done{{1, false}}));
}

TEST_F(TcpReads, MemoryThatIsLetGoHalfwayIsNotReadAnyMore) {
  const std::vector<std::byte> memory = pattern(64 * data_bytes_max, 5);
  auto held = back->hold(address_of(memory), memory.size());
  std::vector<std::byte> place(memory.size());
  ASSERT_TRUE(start(memory, 0, (*held)->remote_key(), place, 1));
  while (owner.bytes_sent() < 2 * data_bytes_max) owner.transport->progress();
  held->reset();
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, (Done{{1, false}}));
  EXPECT_TRUE(poll_until([&] { return link->channels().has(frames); }, reader, owner))
      << "the connection is made anew";
}

TEST_F(TcpReads, EndUndoneWithTheirConnectionAndKeysOutliveIt) {
  const std::vector<std::byte> memory = pattern(64 * data_bytes_max, 6);
  const auto held = back->hold(address_of(memory), memory.size());
  const std::uint32_t key = (*held)->remote_key();
  std::vector<std::byte> place(memory.size());
  for (const bool by_reader : {true, false}) {
    reader.sink.operations.clear();
    ASSERT_TRUE(start(memory, 0, key, place, 1));
    ASSERT_TRUE(start(memory, 0, key, place, 2));
    owner.transport->progress();
    reader.transport->progress();
    (by_reader ? *link : static_cast<TcpLink&>(*back)).cut();
    ASSERT_TRUE(poll_until([&] { return reader.sink.operations.size() == 2; }, reader, owner));
    EXPECT_EQ(reader.sink.operations, (Done{{1, false}, {2, false}}));
    ASSERT_TRUE(poll_until(
        [&] {
          settle(reader, owner);
          return link->channels().has(frames) && back->channels().has(frames);
        },
        reader, owner));
  }
  reader.sink.operations.clear();
  ASSERT_TRUE(start(memory, 0, key, place, 3));
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, (Done{{3, true}}));
  EXPECT_EQ(place, memory);
}

TEST_F(TcpReads, OfAPeerThatWasAbandonedEnd) {
  const std::vector<std::byte> memory = pattern(1000, 7);
  const auto held = back->hold(address_of(memory), memory.size());
  std::vector<std::byte> place(1000);
  ASSERT_TRUE(start(memory, 0, (*held)->remote_key(), place, 1));
  link->abandon();
  EXPECT_TRUE(reader.sink.operations.empty());
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations, (Done{{1, false}}));
  EXPECT_FALSE(start(memory, 0, (*held)->remote_key(), place, 2));
}

TEST_F(TcpReads, AreBoundedOnBothSides) {
  const std::vector<std::byte> memory = pattern(8, 8);
  const auto held = back->hold(address_of(memory), memory.size());
  std::vector<std::byte> place(8);
  std::size_t started = 0;
  while (start(memory, 0, (*held)->remote_key(), place, started)) ++started;
  EXPECT_EQ(started, Connection::reads_max);
  settle(reader, owner);
  EXPECT_EQ(reader.sink.operations.size(), started);
  EXPECT_TRUE(start(memory, 0, (*held)->remote_key(), place, 0));
  settle(reader, owner);
}

TEST(TcpReadsEncrypted, AreNotOffered) {
  TcpEnd a(0, test_settings(true));
  TcpEnd b(1, test_settings(true));
  TcpLink& link = a.connect(b);
  settle(a, b);
  EXPECT_EQ(link.channels(), ChannelSet{frames});
  EXPECT_EQ(link.possible_channels(), ChannelSet{frames});
  std::vector<std::byte> memory(8);
  EXPECT_FALSE(link.hold(address_of(memory), memory.size()).ok());
  EXPECT_FALSE(link.start({.kind = Operation::Kind::get, .bytes = 8}));
}

TEST(TcpExportedMemory, IsWhatHasAKeyAsLongAsItIsHeld) {
  ExportedMemory memory;
  const auto secret = memory.hold(5000, 100);
  auto shown = memory.hold(1000, 100);
  const std::uint32_t key = shown->remote_key();
  EXPECT_NE(key, 0U);
  EXPECT_EQ(shown->remote_key(), key);
  EXPECT_TRUE(memory.may_read(key, 1000, 100));
  EXPECT_TRUE(memory.may_read(key, 1099, 1));
  EXPECT_FALSE(memory.may_read(key, 999, 1));
  EXPECT_FALSE(memory.may_read(key, 1099, 2));
  EXPECT_FALSE(memory.may_read(key, 1001, ~std::uint64_t{0}));
  EXPECT_FALSE(memory.may_read(key, 5000, 1)) << "nobody has asked for the key of that";
  EXPECT_FALSE(memory.may_read(key + 1, 5000, 1));
  EXPECT_FALSE(memory.may_read(0, 5000, 1));
  shown.reset();
  EXPECT_FALSE(memory.may_read(key, 1000, 100));
}

}  // namespace
}  // namespace hawser::transport::tcp
