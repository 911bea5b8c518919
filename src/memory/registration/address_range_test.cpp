#include "memory/registration/address_range.hpp"

#include <gtest/gtest.h>

namespace hawser::memory {
namespace {

constexpr std::size_t page_size = 4096;

TEST(AddressRange, PagesAroundBytes) {
  EXPECT_EQ(pages_around(page_size, page_size, page_size),
            (AddressRange{page_size, 2 * page_size}));
  EXPECT_EQ(pages_around(page_size + 1, 1, page_size), (AddressRange{page_size, 2 * page_size}));
  EXPECT_EQ(pages_around(page_size - 1, 2, page_size), (AddressRange{0, 2 * page_size}));
  EXPECT_EQ(pages_around(page_size, page_size + 1, page_size),
            (AddressRange{page_size, 3 * page_size}));
}

TEST(AddressRange, PagesEndWithTheAddressSpace) {
  constexpr std::uintptr_t last_page = UINTPTR_MAX - page_size + 1;
  EXPECT_EQ(pages_around(page_size, SIZE_MAX, page_size), (AddressRange{page_size, last_page}));
  EXPECT_EQ(pages_around(last_page - page_size, page_size, page_size),
            (AddressRange{last_page - page_size, last_page}));
  EXPECT_EQ(pages_around(UINTPTR_MAX, 1, page_size).bytes(), 0U);
}

TEST(AddressRange, NeighboursDoNotOverlap) {
  constexpr AddressRange middle{2 * page_size, 4 * page_size};
  EXPECT_FALSE(middle.overlaps({page_size, 2 * page_size}));
  EXPECT_FALSE(middle.overlaps({4 * page_size, 5 * page_size}));
  EXPECT_TRUE(middle.overlaps({3 * page_size, 5 * page_size}));
  EXPECT_FALSE(middle.covers({3 * page_size, 5 * page_size}));
  EXPECT_TRUE(middle.covers({3 * page_size, 4 * page_size}));
  EXPECT_EQ(hull(middle, {0, page_size}), (AddressRange{0, 4 * page_size}));
}

}  // namespace
}  // namespace hawser::memory
