#include "softrdma/memory/stale_parts.hpp"

#include <gtest/gtest.h>

namespace softrdma::memory {
namespace {

std::span<const std::byte> memory_at(std::uintptr_t begin, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(begin), bytes};
}

TEST(StaleParts, WhatTouchesAPartIsFound) {
  StaleParts parts;
  EXPECT_EQ(parts.find(memory_at(0, 1000)), nullptr);
  parts.add({100, 200, Change::unmapped});
  EXPECT_EQ(parts.find(memory_at(0, 100)), nullptr);
  EXPECT_NE(parts.find(memory_at(0, 101)), nullptr);
  EXPECT_NE(parts.find(memory_at(150, 1)), nullptr);
  EXPECT_NE(parts.find(memory_at(199, 100)), nullptr);
  EXPECT_EQ(parts.find(memory_at(200, 100)), nullptr);
  EXPECT_EQ(parts.find(memory_at(150, 0)), nullptr) << "nobody reaches anything";
}

TEST(StaleParts, WhatHappenedFirstCounts) {
  StaleParts parts;
  parts.add({100, 200, Change::moved});
  parts.add({300, 400, Change::discarded});
  parts.add({50, 500, Change::unmapped});
  const auto change_at = [&](std::uintptr_t address) {
    return parts.find(memory_at(address, 1))->change;
  };
  EXPECT_EQ(change_at(50), Change::unmapped);
  EXPECT_EQ(change_at(100), Change::moved);
  EXPECT_EQ(change_at(200), Change::unmapped);
  EXPECT_EQ(change_at(399), Change::discarded);
  EXPECT_EQ(change_at(499), Change::unmapped);
  EXPECT_EQ(parts.find(memory_at(500, 1)), nullptr);
}

}  // namespace
}  // namespace softrdma::memory
