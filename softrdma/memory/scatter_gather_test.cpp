#include "softrdma/memory/scatter_gather.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace softrdma::memory {
namespace {

class ScatterGather : public testing::Test {
 protected:
  static constexpr std::uint32_t owner_domain = 1;

  ScatterGather() {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i);
    key_ = *regions_.insert({.address = address(0),
                             .bytes = memory_.size(),
                             .memory = memory_.data(),
                             .domain = owner_domain,
                             .access = IBV_ACCESS_LOCAL_WRITE});
  }
  std::uint64_t address(std::size_t offset) { return 0x10000 + offset; }
  ibv_sge entry(std::size_t offset, std::uint32_t bytes) {
    return {.addr = address(offset), .length = bytes, .lkey = key_};
  }
  std::vector<unsigned> gathered(std::span<const ibv_sge> entries, std::uint64_t offset,
                                 std::size_t bytes) {
    Pieces pieces;
    EXPECT_EQ(gather(owner_, entries, offset, bytes, &pieces), IBV_WC_SUCCESS);
    EXPECT_EQ(pieces.bytes(), bytes);
    std::vector<unsigned> out;
    for (const auto piece : pieces.all())
      for (const std::byte byte : piece) out.push_back(std::to_integer<unsigned>(byte));
    return out;
  }

  RegionTable regions_{1};
  std::array<std::byte, 100> memory_{};
  std::uint32_t key_ = 0;
  Owner owner_{regions_, owner_domain, 0};
};

TEST_F(ScatterGather, ReadsAPartAcrossEntries) {
  const std::array entries{entry(50, 3), entry(0, 0), entry(10, 2), entry(90, 4)};
  EXPECT_EQ(total_bytes(entries), 9U);
  EXPECT_EQ(gathered(entries, 0, 9), (std::vector<unsigned>{50, 51, 52, 10, 11, 90, 91, 92, 93}));
  EXPECT_EQ(gathered(entries, 2, 4), (std::vector<unsigned>{52, 10, 11, 90}));
  EXPECT_EQ(gathered(entries, 5, 4), (std::vector<unsigned>{90, 91, 92, 93}));
  EXPECT_EQ(gathered(entries, 9, 0), (std::vector<unsigned>{}));
}

TEST_F(ScatterGather, WritesWhatItWouldRead) {
  const std::array entries{entry(50, 3), entry(10, 2), entry(90, 4)};
  const std::array payload{std::byte{201}, std::byte{202}, std::byte{203}, std::byte{204}};
  EXPECT_EQ(scatter(owner_, entries, 2, payload), IBV_WC_SUCCESS);
  EXPECT_EQ(gathered(entries, 0, 9),
            (std::vector<unsigned>{50, 51, 201, 202, 203, 204, 91, 92, 93}));
}

TEST_F(ScatterGather, StoresNothingOfWhatDoesNotFit) {
  const auto before = memory_;
  const std::array entries{entry(0, 2), entry(10, 1)};
  const std::array payload{std::byte{201}, std::byte{202}, std::byte{203}, std::byte{204}};
  EXPECT_EQ(scatter(owner_, entries, 0, payload), IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(scatter(owner_, entries, 100, payload), IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(memory_, before);
}

TEST_F(ScatterGather, StoresNothingWhereOneKeyIsWrong) {
  const auto before = memory_;
  std::array entries{entry(0, 2), entry(10, 2)};
  entries[1].lkey ^= 1;
  const std::array payload{std::byte{201}, std::byte{202}, std::byte{203}, std::byte{204}};
  EXPECT_EQ(scatter(owner_, entries, 0, payload), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(memory_, before);
}

TEST_F(ScatterGather, WritingNeedsTheRightAndReadingDoesNot) {
  memory::Region closed = *regions_.find(key_);
  closed.access = 0;
  regions_.change(key_, closed);
  const std::array entries{entry(0, 2)};
  const std::array payload{std::byte{201}};
  EXPECT_EQ(gathered(entries, 0, 2), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(scatter(owner_, entries, 0, payload), IBV_WC_LOC_PROT_ERR);
}

}  // namespace
}  // namespace softrdma::memory
