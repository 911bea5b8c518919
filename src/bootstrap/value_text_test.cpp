#include "bootstrap/value_text.hpp"

#include <gtest/gtest.h>

#include "bootstrap/hexadecimal.hpp"
#include "bootstrap/host_offer.hpp"
#include "bootstrap/published_value.hpp"
#include "bootstrap/shared_cores.hpp"

namespace hawser::bootstrap {
namespace {

Values some_values(int count, std::size_t bytes) {
  Values values;
  for (int i = 0; i < count; ++i)
    values["key" + std::to_string(i)] = std::vector<std::byte>(bytes, static_cast<std::byte>(i));
  return values;
}

TEST(ValueText, WhatWasWrittenIsReadWhateverTheLimit) {
  for (const std::size_t limit : {128U, 129U, 255U, 1023U, 100000U}) {
    for (const Values& values : {Values{}, some_values(1, 0), some_values(5, 255)}) {
      const auto texts = write_values(values, limit);
      ASSERT_TRUE(texts.ok());
      for (const std::string& text : *texts) EXPECT_LE(text.size(), limit);
      EXPECT_EQ(*count_texts(texts->front()), texts->size());
      const auto read = read_values(*texts);
      ASSERT_TRUE(read.ok()) << read.error().sentence();
      EXPECT_EQ(*read, values);
    }
  }
}

TEST(ValueText, TooManyTextsAreRefused) {
  EXPECT_FALSE(write_values(some_values(20, 255), value_text_bytes_min).ok());
}

TEST(ValueText, NothingDamagedIsRead) {
  const std::vector<std::vector<std::string>> damaged = {{},
                                                         {""},
                                                         {"."},
                                                         {"0."},
                                                         {"65."},
                                                         {"-1."},
                                                         {"1"},
                                                         {"1x00"},
                                                         {"2.00"},
                                                         {"1.", "00"},
                                                         {"1.0"},
                                                         {"1.0G"},
                                                         {"1.0A"},
                                                         {"1.01"},
                                                         {"1.0161"},
                                                         {"1.016101"},
                                                         {"1.0000"},
                                                         {"1.ff"},
                                                         {"1.20" + std::string(64, '6') + "00"},
                                                         {"99999999999."}};
  for (const auto& texts : damaged)
    EXPECT_FALSE(read_values(texts).ok()) << (texts.empty() ? "" : texts.front());
  EXPECT_TRUE(read_values(std::vector<std::string>{"1.01610102"}).ok());
}

TEST(Hexadecimal, GoesThereAndBack) {
  std::vector<std::byte> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  EXPECT_EQ(from_hexadecimal(to_hexadecimal(all)), all);
  EXPECT_EQ(to_hexadecimal(std::span(all).subspan(254)), "feff");
  for (const char* text : {"0", "0g", " 0", "FE"}) EXPECT_EQ(from_hexadecimal(text), std::nullopt);
}

TEST(HostOffer, GoesThereAndBack) {
  const HostOffer offer{INT32_MAX, 0, UINT64_MAX, 1, 0xabcdef};
  EXPECT_EQ(parse_offer(to_text(offer)), offer);
  for (const char* text : {"", "1", "1.2.3.4", "1.2.3.4.", "1.2.3.4.5 ", "-1.2.3.4.5", "0.2.3.4.5",
                           "80000000.2.3.4.5", "1.80000000.3.4.5", "1.2.1ffffffffffffffff.4.5"})
    EXPECT_EQ(parse_offer(text), std::nullopt) << text;
}

CoreShare share_of(std::initializer_list<std::size_t> cores,
                   std::uint32_t time_max = CoreShare::no_limit) {
  CoreShare share{.time_max = time_max};
  for (const std::size_t core : cores) share.cores.set(core);
  return share;
}

TEST(SharedCores, AreTheUnionOfAllSets) {
  using Shares = std::vector<CoreShare>;
  EXPECT_EQ(count_shared_cores(Shares{share_of({0}), share_of({1}), share_of({1023})}), 3);
  EXPECT_EQ(count_shared_cores(Shares{share_of({4, 5}), share_of({4, 5})}), 2);
  EXPECT_EQ(count_shared_cores(Shares{share_of({0, 1, 2, 3}, 2), share_of({0, 1, 2, 3}, 2)}), 2);
  EXPECT_EQ(count_shared_cores(Shares{}), 1);
  EXPECT_EQ(count_shared_cores(Shares{share_of({})}), 1);
}

TEST(SharedCores, GoThereAndBack) {
  const CoreShare share = share_of({0, 7, 8, 500, 1023}, 12);
  const auto bytes = to_bytes(share);
  EXPECT_LT(bytes.size(), sizeof(PublishedValue::value));
  EXPECT_EQ(parse_core_share(bytes), share);
  EXPECT_EQ(parse_core_share(std::span(bytes).first(bytes.size() - 1)), std::nullopt);
  EXPECT_GE(own_core_share().cores.count(), 1U);
}

}  // namespace
}  // namespace hawser::bootstrap
