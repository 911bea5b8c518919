#include "base/counters.hpp"

#include <gtest/gtest.h>

namespace hawser::base {
namespace {

TEST(SizeHistogram, BinsAreContiguousAndCoverEverySize) {
  EXPECT_EQ(SizeHistogram::first_of_bin(0), 0U);
  for (std::size_t bin = 0; bin < SizeHistogram::bin_count; ++bin) {
    EXPECT_EQ(SizeHistogram::bin_of(SizeHistogram::first_of_bin(bin)), bin);
    EXPECT_EQ(SizeHistogram::bin_of(SizeHistogram::last_of_bin(bin)), bin);
    if (bin > 0) {
      EXPECT_EQ(SizeHistogram::first_of_bin(bin), SizeHistogram::last_of_bin(bin - 1) + 1);
    }
  }
  EXPECT_EQ(SizeHistogram::last_of_bin(SizeHistogram::bin_count - 1), UINT64_MAX);
}

TEST(SizeHistogram, CountsIntoTheBinOfTheSize) {
  SizeHistogram histogram;
  for (const std::uint64_t bytes : {0U, 1U, 2U, 3U, 4U, 7U, 8U}) histogram.add(bytes);
  EXPECT_EQ(histogram.messages(0), 1U);
  EXPECT_EQ(histogram.messages(1), 1U);
  EXPECT_EQ(histogram.messages(2), 2U);
  EXPECT_EQ(histogram.messages(3), 2U);
  EXPECT_EQ(histogram.messages(4), 1U);
  EXPECT_EQ(histogram.messages(5), 0U);
}

TEST(ChannelCounters, SumMessagesAndBytes) {
  ChannelCounters counters;
  counters.add(0);
  counters.add(100);
  EXPECT_EQ(counters.messages, 2U);
  EXPECT_EQ(counters.bytes, 100U);
}

}  // namespace
}  // namespace hawser::base
