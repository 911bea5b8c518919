#include "transport/verbs/wire.hpp"

#include <gtest/gtest.h>

#include <array>

#include "transport/verbs/token.hpp"

namespace hawser::transport::verbs {
namespace {

template <class T>
std::array<std::byte, sizeof(T)> bytes_of(const T& value) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

TEST(VerbsWire, WhatWasWrittenIsRead) {
  const auto datagram = bytes_of(DatagramHeader{.mtu = 5, .index = 7, .epoch = 2, .token = 99});
  const auto header = parse<DatagramHeader>(datagram);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->index, 7U);
  EXPECT_EQ(header->token, 99U);
  EXPECT_TRUE(parse<PortAddress>(bytes_of(PortAddress{.mtu = 1, .queue_pair = 3})));
}

TEST(VerbsWire, ShortAndForeignBytesAreRefused) {
  auto bytes = bytes_of(DatagramHeader{.mtu = 5});
  EXPECT_FALSE(parse<DatagramHeader>(std::span(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(parse<DatagramHeader>({}));
  bytes[0] = std::byte{2};
  EXPECT_FALSE(parse<DatagramHeader>(bytes));
  for (const std::uint8_t mtu : std::array<std::uint8_t, 3>{0, 6, 255})
    EXPECT_FALSE(parse<PortAddress>(bytes_of(PortAddress{.mtu = mtu, .lid = 0})));
}

TEST(VerbsWire, MtusAreTheVerbs) {
  EXPECT_EQ(mtu_bytes(1), 256U);
  EXPECT_EQ(mtu_bytes(5), 4096U);
  EXPECT_EQ(mtu_bytes(6), 0U);
}

TEST(VerbsToken, DependsOnTheKeyAndOnBothEnds) {
  const base::Identity a{1, 2, 3};
  const base::Identity b{1, 3, 3};
  JobKey key{};
  const std::uint64_t token = token_of(key, a, b);
  EXPECT_EQ(token_of(key, a, b), token);
  EXPECT_NE(token_of(key, b, a), token);
  EXPECT_NE(token_of(key, a, {1, 3, 4}), token);
  key[0] = std::byte{1};
  EXPECT_NE(token_of(key, a, b), token);
}

}  // namespace
}  // namespace hawser::transport::verbs
