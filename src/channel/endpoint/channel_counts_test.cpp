#include "channel/endpoint/channel_counts.hpp"

#include <gtest/gtest.h>

namespace hawser::channel {
namespace {

using transport::ChannelKind;

TEST(ChannelCounts, CostNothingUntilSomethingCrosses) {
  memory::Ledger ledger;
  ChannelCounts counts(ledger);
  EXPECT_EQ(counts[ChannelKind::ring].sent.messages, 0U);
  EXPECT_TRUE(counts.all().empty());
  EXPECT_EQ(ledger.current_bytes(memory::Account::endpoints), 0);
}

TEST(ChannelCounts, EachChannelHasItsOwn) {
  memory::Ledger ledger;
  ChannelCounts counts(ledger);
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i)
    for (std::size_t times = 0; times <= i; ++times) {
      counts.of(static_cast<ChannelKind>(i)).sent.add(i);
      counts.of(static_cast<ChannelKind>(i)).received.add(2 * i);
    }
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const ChannelCounts::Entry& entry = counts[static_cast<ChannelKind>(i)];
    EXPECT_EQ(entry.sent.messages, i + 1);
    EXPECT_EQ(entry.sent.bytes, i * (i + 1));
    EXPECT_EQ(entry.received.bytes, 2 * i * (i + 1));
  }
  EXPECT_EQ(counts.all().size(), transport::channel_kind_count);
  EXPECT_EQ(ledger.current_bytes(memory::Account::endpoints),
            transport::channel_kind_count * sizeof(ChannelCounts::Entry));
}

}  // namespace
}  // namespace hawser::channel
