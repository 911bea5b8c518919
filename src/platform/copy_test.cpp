#include "platform/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::platform {
namespace {

/// Every length and every alignment around a line, with bytes behind that must stay.
void expect_copies(void (*copy)(std::byte*, const std::byte*, std::size_t)) {
  constexpr std::size_t room = 512;
  std::vector<std::byte> from(room);
  for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
    for (const std::size_t to_shift : {0U, 1U, 40U, 63U, 64U}) {
      const std::size_t from_shift = (bytes * 5) % 67;
      alignas(64) std::byte to[room] = {};
      copy(to + to_shift, from.data() + from_shift, bytes);
      for (std::size_t i = 0; i < room; ++i) {
        const bool inside = i >= to_shift && i < to_shift + bytes;
        ASSERT_EQ(to[i], inside ? from[i - to_shift + from_shift] : std::byte{0})
            << bytes << " bytes to " << to_shift << ", at " << i;
      }
    }
  }
}

TEST(Copy, PlainCopiesEveryByteAndNoOther) { expect_copies(copy_plain); }

TEST(Copy, PastTheCacheCopiesEveryByteAndNoOther) { expect_copies(copy_past_cache); }

}  // namespace
}  // namespace hawser::platform
