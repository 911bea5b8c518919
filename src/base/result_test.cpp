#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace hawser::base {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return Error(ErrorClass::arg, std::string("no digit: ") + c);
  return c - '0';
}

Result<void> check_digits(std::string_view text, int* seen) {
  for (const char c : text) {
    HAWSER_TRY(parse_digit(c));
    ++*seen;
  }
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = parse_digit('7');
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 7);
  const Result<int> bad = parse_digit('x');
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code(), static_cast<int>(ErrorClass::arg));
  EXPECT_EQ(bad.error().sentence(), "no digit: x");
}

TEST(Result, CarriesValuesThatOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 3);
}

TEST(Result, TryReturnsTheFirstErrorAtOnce) {
  int seen = 0;
  EXPECT_TRUE(check_digits("123", &seen).ok());
  EXPECT_EQ(seen, 3);
  seen = 0;
  const Result<void> bad = check_digits("1a3b", &seen);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(bad.error().sentence(), "no digit: a");
}

TEST(Error, KeepsCodesThatTheUserMade) { EXPECT_EQ(Error::from_code(1234, "mine").code(), 1234); }

TEST(Result, SuccessWithoutValueIsOnePointer) { EXPECT_EQ(sizeof(Result<void>), sizeof(void*)); }

}  // namespace
}  // namespace hawser::base
