#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace hawser::base {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Checksum, IsCrc32c) {
  EXPECT_EQ(checksum_of({}), 0U);
  EXPECT_EQ(checksum_of(bytes_of("123456789")), 0xe3069283U) << "the check value of CRC32C";
  const std::array<std::byte, 32> zeros{};
  EXPECT_EQ(checksum_of(zeros), 0x8a9136aaU) << "RFC 3720 B.4";
}

TEST(Checksum, GoesOnFromWhatCameBefore) {
  const auto text = bytes_of("some bytes of which both parts together are checked");
  for (std::size_t length = 0; length <= text.size(); ++length)
    EXPECT_EQ(checksum_of(text.subspan(length), checksum_of(text.first(length))),
              checksum_of(text));
}

TEST(Checksum, SeesEveryFlippedBit) {
  std::vector<std::byte> bytes(200, std::byte{0x5a});
  const std::uint32_t right = checksum_of(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(checksum_of(bytes), right) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

}  // namespace
}  // namespace hawser::base
