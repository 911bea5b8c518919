#include "core/datatype/random_type.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hawser::core::testing {
namespace {

TEST(RandomType, AgreesWithItsModel) {
  const TypeTable table;
  constexpr std::uint32_t seeds = 2000;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> data(600);
    for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random());
    ASSERT_EQ(check_random_type(data, table), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace hawser::core::testing
