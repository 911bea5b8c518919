#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hawser::base {
namespace {

void copy_any(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_bytes(to, from, bytes);
}

class Copy : public testing::TestWithParam<void (*)(std::byte*, const std::byte*, std::size_t)> {
 protected:
  static constexpr std::size_t room = 34000;

  Copy() : from_(room), to_(room + 64) {
    for (std::size_t i = 0; i < room; ++i) from_[i] = static_cast<std::byte>(i * 7 + 1);
  }
  /// Every byte, and no other.
  void expect_copied(std::size_t bytes, std::size_t to_shift, std::size_t from_shift) {
    constexpr std::byte untouched{0xee};
    // Shifts are those from a cache line.
    std::byte* const to =
        to_.data() + (64 - reinterpret_cast<std::uintptr_t>(to_.data()) % 64) % 64;
    std::fill(to_.begin(), to_.end(), untouched);
    GetParam()(to + to_shift, from_.data() + from_shift, bytes);
    for (std::size_t i = 0; i < to_shift + bytes + 64; ++i) {
      const bool inside = i >= to_shift && i < to_shift + bytes;
      ASSERT_EQ(to[i], inside ? from_[i - to_shift + from_shift] : untouched)
          << bytes << " bytes from " << from_shift << " to " << to_shift << ", at " << i;
    }
  }

  std::vector<std::byte> from_, to_;
};

TEST_P(Copy, CopiesEveryByteOfShortRunsAndNoOther) {
  for (std::size_t bytes = 0; bytes <= 300; ++bytes)
    for (const std::size_t to_shift : {0U, 1U, 40U, 63U, 64U})
      expect_copied(bytes, to_shift, (bytes * 5) % 67);
}

TEST_P(Copy, CopiesEveryByteOfLongRunsAndNoOther) {
  for (const std::size_t bytes :
       {2047U, 2048U, 2049U, 4095U, 4096U, 8200U, 12345U, 16384U, 16511U, 32768U, 33001U})
    for (const std::size_t to_shift : {0U, 1U, 16U, 31U, 32U, 63U})
      for (const std::size_t from_shift : {0U, 16U, 33U})
        expect_copied(bytes, to_shift, from_shift);
}

INSTANTIATE_TEST_SUITE_P(Ways, Copy,
                         testing::Values(copy_any, copy_long, copy_from_peer, copy_maybe_cold,
                                         copy_string, copy_past_cache));

}  // namespace
}  // namespace hawser::base
