#include "softrdma/memory/checked_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace softrdma::memory {
namespace {

TEST(CheckedCopy, TakesWhatIsThereAndNotWhatIsGone) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  std::fill_n(first, 2 * page, std::byte{7});
  std::vector<std::byte> copy(2 * page);
  EXPECT_TRUE(copy_if_mapped(copy, {first, 2 * page}));
  EXPECT_EQ(std::ranges::count(copy, std::byte{7}), static_cast<std::ptrdiff_t>(2 * page));

  ASSERT_EQ(::munmap(first + page, page), 0);
  EXPECT_FALSE(copy_if_mapped(copy, {first, 2 * page})) << "half of it is gone";
  EXPECT_TRUE(copy_if_mapped(std::span(copy).first(page), {first, page}));
  ASSERT_EQ(::munmap(first, page), 0);
  EXPECT_FALSE(copy_if_mapped(std::span(copy).first(page), {first, page}));
  EXPECT_TRUE(copy_if_mapped({}, {}));
}

}  // namespace
}  // namespace softrdma::memory
