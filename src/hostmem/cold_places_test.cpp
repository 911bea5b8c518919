#include "hostmem/cold_places.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::hostmem {
namespace {

constexpr std::size_t piece_bytes = std::size_t{32} << 10;
constexpr std::size_t message_bytes = ColdPlaces::message_bytes_min;

/// Nobody reads what is there.
const std::byte* place(std::uintptr_t offset) {
  return reinterpret_cast<const std::byte*>((std::uintptr_t{1} << 32) + offset);
}

struct Received {
  int past_caches = 0;  // pieces
  int looks = 0;
};

/// A message to the place at OFFSET, which IS_COLD wherever it is looked at.
Received receive(ColdPlaces& places, std::uintptr_t offset, bool is_cold) {
  Received received;
  for (std::size_t at = 0; at < message_bytes; at += piece_bytes) {
    if (places.note(place(offset + at), piece_bytes)) {
      ++received.looks;
      places.looked(is_cold);
    }
    received.past_caches += places.are_cold() ? 1 : 0;
  }
  return received;
}

constexpr int pieces = message_bytes / piece_bytes;

TEST(ColdPlaces, AreFoundByLooksOfWhichThereAreFew) {
  ColdPlaces places;
  const Received first = receive(places, 0, true);
  EXPECT_GT(first.past_caches, pieces / 2);
  EXPECT_LT(first.past_caches, pieces);
  EXPECT_LE(first.looks, pieces / 16);
  EXPECT_EQ(receive(places, message_bytes, true).past_caches, pieces);
}

TEST(ColdPlaces, AreNoneWhereLooksFindThemCached) {
  ColdPlaces places;
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(receive(places, i * message_bytes, false).past_caches, 0);
}

TEST(ColdPlaces, EndWithALookThatFindsOneCached) {
  ColdPlaces places;
  receive(places, 0, true);
  EXPECT_EQ(receive(places, message_bytes, false).past_caches, 0);
}

TEST(ColdPlaces, AreNoneWhereOneBufferServesAllMessages) {
  ColdPlaces places;
  receive(places, 0, true);
  // What was written past the caches, and not read, is cold; by ordinary stores it would not be.
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(receive(places, 0, true).past_caches, 0);
}

TEST(ColdPlaces, AreNoneWhereTwoBuffersTakeTurns) {
  ColdPlaces places;
  for (std::size_t i = 0; i < 4; ++i) receive(places, i % 2 * message_bytes, true);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(receive(places, i % 2 * message_bytes, true).past_caches, 0);
}

TEST(ColdPlaces, AreThereAgainOnceBuffersAreNotReused) {
  ColdPlaces places;
  for (std::size_t i = 0; i < 3; ++i) receive(places, 0, true);
  for (std::size_t i = 1; i < 6; ++i) receive(places, i * message_bytes, true);
  EXPECT_EQ(receive(places, 6 * message_bytes, true).past_caches, pieces);
}

TEST(ColdPlaces, AreColdWhereABufferIsReusedLate) {
  ColdPlaces places;
  for (std::size_t i = 0; i < 32; ++i) receive(places, i % 16 * message_bytes, true);
  EXPECT_EQ(receive(places, 0, true).past_caches, pieces);
}

TEST(ColdPlaces, APlaceIsLookedAtWithoutAChange) {
  const std::vector<std::byte> memory(64, std::byte{7});
  static_cast<void>(is_in_no_cache(memory.data()));  // where a look at the clock is slow, always
  EXPECT_EQ(memory[0], std::byte{7});
}

}  // namespace
}  // namespace hawser::hostmem
