#include "transport/tcp/record_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace hawser::transport::tcp {
namespace {

using RecordState = RecordReader::Record::State;

class TcpRecords : public ::testing::TestWithParam<bool> {
 protected:
  TcpRecords() : memory(RecordReader::memory_bytes / 8), reader(key()) {
    reader.use(reinterpret_cast<std::byte*>(memory.data()));
    if (key()) seal.emplace(*key());
  }
  static std::optional<SealKey> key() {
    return GetParam() ? std::optional(SealKey{}) : std::nullopt;
  }
  void append(std::size_t body_bytes, int filled_with) {
    const RecordHeader header{static_cast<std::uint32_t>(body_bytes),
                              body_bytes == 0 ? RecordType::leave : RecordType::frame,
                              {}};
    const std::vector<std::byte> body(body_bytes, static_cast<std::byte>(filled_with));
    const std::size_t at = stream.size();
    stream.resize(at + record_bytes(body_bytes, GetParam()));
    std::memcpy(&stream[at], &header, sizeof(header));
    std::byte* const to = stream.data() + at + sizeof(header);
    if (seal) {
      seal->apply(header, body, to);
    } else {
      std::ranges::copy(body, to);
    }
  }
  /// Feeds at most BYTES of the stream from AT on; how many.
  std::size_t feed(std::size_t at, std::size_t bytes) {
    const std::span<std::byte> room = reader.room();
    EXPECT_FALSE(room.empty());
    const std::size_t fed = std::min({bytes, room.size(), stream.size() - at});
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), fed, room.begin());
    reader.note_read(fed);
    return fed;
  }

  std::vector<std::uint64_t> memory;
  RecordReader reader;
  std::optional<Seal> seal;
  std::vector<std::byte> stream;
};

INSTANTIATE_TEST_SUITE_P(PlainAndSealed, TcpRecords, ::testing::Bool());

TEST_P(TcpRecords, ComeWholeAlignedAndInOrderHoweverTheStreamIsCut) {
  std::mt19937 random(1);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 300; ++i) {
    const std::size_t bytes = i % 10 == 0 ? frame_bytes_max - random() % 16 : random() % 3000;
    sizes.push_back(bytes);
    append(bytes, i);
  }
  std::size_t seen = 0;
  for (std::size_t at = 0; at < stream.size();) {
    at += feed(at, 1 + random() % (random() % 2 == 0 ? 50 : 200'000));
    for (auto record = reader.next(); record.state != RecordState::none; record = reader.next()) {
      ASSERT_EQ(record.state, RecordState::whole);
      ASSERT_LT(seen, sizes.size());
      ASSERT_EQ(record.body.size(), sizes[seen]);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(record.body.data()) % 8, 0U);
      const auto filled_with = static_cast<std::byte>(seen);
      ASSERT_TRUE(std::ranges::all_of(record.body, [=](std::byte b) { return b == filled_with; }));
      ++seen;
    }
  }
  EXPECT_EQ(seen, sizes.size());
  EXPECT_TRUE(reader.is_empty());
}

TEST(TcpDataRecords, AreToldOfAtTheirHeaderAndTheRestPassesTheReaderBy) {
  std::mt19937 random(2);
  std::vector<std::uint64_t> memory(RecordReader::memory_bytes / 8);
  RecordReader reader(std::nullopt);
  reader.use(reinterpret_cast<std::byte*>(memory.data()));
  struct Sent {
    RecordType type;
    std::vector<std::byte> body;
  };
  std::vector<Sent> sent;
  std::vector<std::byte> stream;
  for (int i = 0; i < 200; ++i) {
    const bool is_data = random() % 2 == 0;
    const std::size_t bytes = 1 + random() % (is_data ? data_bytes_max : 5000);
    Sent& each = sent.emplace_back(Sent{is_data ? RecordType::data : RecordType::frame,
                                        std::vector<std::byte>(bytes, static_cast<std::byte>(i))});
    const RecordHeader header{static_cast<std::uint32_t>(bytes), each.type, {}};
    const auto front = std::as_bytes(std::span(&header, 1));
    stream.insert(stream.end(), front.begin(), front.end());
    stream.insert(stream.end(), each.body.begin(), each.body.end());
    stream.resize((stream.size() + 7) / 8 * 8);
  }
  std::size_t seen = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const std::span<std::byte> room = reader.room();
    const std::size_t bytes = std::min(
        {1 + random() % (random() % 2 == 0 ? 20 : 100'000), room.size(), stream.size() - at});
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), bytes, room.begin());
    reader.note_read(bytes);
    at += bytes;
    for (auto record = reader.next(); record.state != RecordState::none; record = reader.next()) {
      ASSERT_EQ(record.state, RecordState::whole);
      ASSERT_LT(seen, sent.size());
      ASSERT_EQ(record.type, sent[seen].type);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(record.body.data()) % 8, 0U);
      std::vector<std::byte> body(record.body.begin(), record.body.end());
      const auto rest = stream.begin() + static_cast<std::ptrdiff_t>(at);
      body.insert(body.end(), rest, rest + static_cast<std::ptrdiff_t>(record.rest_bytes));
      at += record.rest_bytes;
      ASSERT_EQ(body, sent[seen].body);
      ++seen;
    }
  }
  EXPECT_EQ(seen, sent.size());
}

TEST_P(TcpRecords, WhatIsMissingOfARecordIsKnownFromItsHeaderOn) {
  append(1000, 1);
  EXPECT_EQ(reader.missing_bytes(), 0U);
  feed(0, 7);
  EXPECT_EQ(reader.missing_bytes(), 0U);
  feed(7, 93);
  EXPECT_EQ(reader.missing_bytes(), stream.size() - 100);
  feed(100, stream.size());
  EXPECT_EQ(reader.missing_bytes(), 0U);
}

TEST_P(TcpRecords, DataIsBadWhereRecordsAreSealed) {
  const RecordHeader header{8, RecordType::data, {}};
  stream.resize(sizeof(header) + 8);
  std::memcpy(stream.data(), &header, sizeof(header));
  feed(0, stream.size());
  EXPECT_EQ(reader.next().state, GetParam() ? RecordState::bad : RecordState::whole);
}

TEST_P(TcpRecords, AnOversizedLengthIsRefusedAtItsHeader) {
  for (const RecordHeader& header : {RecordHeader{frame_bytes_max + 1, RecordType::frame, {}},
                                     RecordHeader{data_bytes_max + 1, RecordType::data, {}},
                                     RecordHeader{sizeof(ReadRequest) + 1, RecordType::read, {}}}) {
    RecordReader fresh(key());
    EXPECT_EQ(fresh.next().state, RecordState::none);
    fresh.use(reinterpret_cast<std::byte*>(memory.data()));
    std::memcpy(fresh.room().data(), &header, sizeof(header));
    fresh.note_read(sizeof(header));
    EXPECT_EQ(fresh.next().state, RecordState::bad);
  }
}

TEST_P(TcpRecords, ADamagedSealIsBad) {
  if (!GetParam()) GTEST_SKIP() << "what is plain is checked by whoever wants it";
  append(100, 1);
  stream[50] ^= std::byte{4};
  feed(0, stream.size());
  EXPECT_EQ(reader.next().state, RecordState::bad);
}

}  // namespace
}  // namespace hawser::transport::tcp
