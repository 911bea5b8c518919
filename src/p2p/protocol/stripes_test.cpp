#include "p2p/protocol/stripes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::p2p {
namespace {

constexpr std::uint64_t gigabit = 1'000'000'000;

std::vector<std::uint64_t> shares(StripeRails rails, std::uint64_t bytes) {
  std::vector<std::uint64_t> taken;
  for (; rails.count() > 0; rails.drop_first()) {
    taken.push_back(share_of_first(rails.rails(), bytes));
    bytes -= taken.back();
  }
  EXPECT_EQ(bytes, 0U) << "nothing is left over";
  return taken;
}

StripeRails rails_of(std::initializer_list<std::uint64_t> bits_per_second) {
  StripeRails rails;
  std::uint8_t number = 0;
  for (const std::uint64_t each : bits_per_second) rails.add(number++, each);
  return rails;
}

TEST(Stripes, FollowTheBandwidthOfTheRails) {
  EXPECT_EQ(shares(rails_of({100 * gigabit}), 12345), std::vector<std::uint64_t>{12345});
  const auto equal = shares(rails_of({100 * gigabit, 100 * gigabit}), 1 << 20);
  EXPECT_EQ(equal, (std::vector<std::uint64_t>{1 << 19, 1 << 19}));
  const auto uneven = shares(rails_of({300 * gigabit, 100 * gigabit}), 1 << 20);
  EXPECT_EQ(uneven, (std::vector<std::uint64_t>{3 << 18, 1 << 18}));
}

TEST(Stripes, RailsOfUnknownBandwidthShareEqually) {
  EXPECT_EQ(shares(rails_of({0, 0, 0, 0}), 1 << 16), std::vector<std::uint64_t>(4, 1 << 14));
}

TEST(Stripes, CoverLengthsThatAreNoPages) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4097}, std::uint64_t{999'999},
                                    (std::uint64_t{1} << 40) + 7})
    for (const auto& rails : {rails_of({gigabit, 2 * gigabit}), rails_of({7, 8, 9 * gigabit, 1})})
      shares(rails, bytes);
}

TEST(Stripes, TheNextBlockGoesWhereLeastIsUnderWay) {
  StripeRails rails = rails_of({100 * gigabit, 200 * gigabit});
  EXPECT_EQ(least_loaded(rails.rails()).number, 0) << "the preferred one first";
  rails.rails()[0].under_way_bytes = 10;
  EXPECT_EQ(least_loaded(rails.rails()).number, 1);
  rails.rails()[1].under_way_bytes = 19;
  EXPECT_EQ(least_loaded(rails.rails()).number, 1);
  rails.rails()[1].under_way_bytes = 21;
  EXPECT_EQ(least_loaded(rails.rails()).number, 0);
}

}  // namespace
}  // namespace hawser::p2p
