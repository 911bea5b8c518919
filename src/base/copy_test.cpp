#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hawser::base {
namespace {

TEST(CopyBytes, CopiesEverySizeAndNothingBeside) {
  constexpr std::size_t bytes_max = 40;
  constexpr std::byte untouched{0xee};
  std::array<std::byte, bytes_max> from;
  for (std::size_t i = 0; i < bytes_max; ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t bytes = 0; bytes <= bytes_max; ++bytes) {
    std::array<std::byte, bytes_max + 2> to;
    to.fill(untouched);
    copy_bytes(to.data() + 1, from.data(), bytes);
    EXPECT_EQ(to.front(), untouched);
    for (std::size_t i = 0; i < bytes_max + 1; ++i)
      EXPECT_EQ(to[i + 1], i < bytes ? from[i] : untouched) << bytes << " bytes, byte " << i;
  }
}

}  // namespace
}  // namespace hawser::base
