#include "core/datatype/every_second.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace hawser::core {
namespace {

constexpr Count count_max = 200;  // several lines of all sizes, and a rest

/// BYTES bytes at OFFSET in memory of its own that ends with them: a sanitizer sees who reads on.
struct Memory {
  Memory(std::size_t offset, std::size_t length)
      : all(std::make_unique<std::byte[]>(offset + length)), bytes(all.get() + offset, length) {}
  std::unique_ptr<std::byte[]> all;
  std::span<std::byte> bytes;
};

constexpr std::byte untouched{0xa5};

std::byte numbered(std::size_t i) { return static_cast<std::byte>(i * 7 + (i >> 8)); }

template <class Bytes>
class EverySecond : public ::testing::Test {
 protected:
  static constexpr std::size_t element_bytes = Bytes::value;
  /// From the first byte of the first one to the last byte of the last one.
  static std::size_t span_of(Count count) {
    return count == 0 ? 0 : (2 * static_cast<std::size_t>(count) - 1) * element_bytes;
  }
  /// Calls CHECK(count, offset of the elements, offset of the stream).
  template <class Check>
  static void for_each_case(Check&& check) {
    constexpr std::array<std::size_t, 4> offsets = {0, 1, 8, 17};
    for (Count count = 0; count <= count_max; ++count)
      for (const std::size_t offset : offsets) check(count, offset, offsets.back() - offset);
  }
};

using Sizes =
    ::testing::Types<std::integral_constant<std::size_t, 1>, std::integral_constant<std::size_t, 2>,
                     std::integral_constant<std::size_t, 4>,
                     std::integral_constant<std::size_t, 8>>;
TYPED_TEST_SUITE(EverySecond, Sizes);

TYPED_TEST(EverySecond, IsPacked) {
  constexpr std::size_t size = TestFixture::element_bytes;
  TestFixture::for_each_case([](Count count, std::size_t at, std::size_t stream_at) {
    const Memory elements(at, TestFixture::span_of(count));
    for (std::size_t i = 0; i < elements.bytes.size(); ++i) elements.bytes[i] = numbered(i);
    const Memory stream(stream_at, static_cast<std::size_t>(count) * size);
    pack_every_second<size>(stream.bytes.data(), elements.bytes.data(), count);
    for (std::size_t i = 0; i < stream.bytes.size(); ++i)
      ASSERT_EQ(stream.bytes[i], numbered(i / size * 2 * size + i % size)) << count;
  });
}

TYPED_TEST(EverySecond, IsUnpackedAndNothingBetween) {
  constexpr std::size_t size = TestFixture::element_bytes;
  TestFixture::for_each_case([](Count count, std::size_t at, std::size_t stream_at) {
    const Memory stream(stream_at, static_cast<std::size_t>(count) * size);
    for (std::size_t i = 0; i < stream.bytes.size(); ++i) stream.bytes[i] = numbered(i);
    const Memory elements(at, TestFixture::span_of(count));
    std::ranges::fill(elements.bytes, untouched);
    unpack_every_second<size>(elements.bytes.data(), stream.bytes.data(), count);
    for (std::size_t i = 0; i < elements.bytes.size(); ++i) {
      const bool is_gap = i / size % 2 == 1;
      ASSERT_EQ(elements.bytes[i], is_gap ? untouched : numbered(i / size / 2 * size + i % size))
          << count;
    }
  });
}

}  // namespace
}  // namespace hawser::core
