#include "channel/endpoint/frame_copies.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::channel {
namespace {

TEST(FrameCopies, KeepWhatWasThereUntilTheyAreDropped) {
  memory::Ledger ledger;
  {
    FrameCopies copies(ledger);
    std::vector<std::byte> frame(100, std::byte{1});
    const std::byte* const first = copies.keep(frame);
    frame.assign(50, std::byte{2});
    const std::byte* const second = copies.keep(frame);
    EXPECT_EQ(first[99], std::byte{1});
    EXPECT_EQ(second[49], std::byte{2});
    EXPECT_EQ(ledger.current_bytes(memory::Account::kept_frames), 150);
    copies.drop(first);
    EXPECT_EQ(ledger.current_bytes(memory::Account::kept_frames), 50);
    EXPECT_FALSE(copies.is_empty());
  }
  EXPECT_EQ(ledger.current_bytes(memory::Account::kept_frames), 0);
}

}  // namespace
}  // namespace hawser::channel
