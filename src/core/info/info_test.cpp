#include "core/info/info.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hawser::core {
namespace {

int code(const auto& result) { return result.ok() ? 0 : result.error().code(); }

TEST(Info, KeepsTheOrderOfFirstInsertion) {
  Info info;
  ASSERT_TRUE(info.set("b", "1").ok());
  ASSERT_TRUE(info.set("a", "2").ok());
  ASSERT_TRUE(info.set("c", "3").ok());
  ASSERT_TRUE(info.set("b", "4").ok());
  ASSERT_TRUE(info.erase("a").ok());
  ASSERT_EQ(info.size(), 2);
  EXPECT_EQ(*info.key(0), "b");
  EXPECT_EQ(*info.key(1), "c");
  EXPECT_EQ(info.get("b"), "4");
  EXPECT_EQ(info.get("a"), std::nullopt);
}

TEST(Info, KeepsBlanksAndEmptyValues) {
  Info info;
  ASSERT_TRUE(info.set(" key ", "  ").ok());
  ASSERT_TRUE(info.set("none", "").ok());
  EXPECT_EQ(info.get(" key "), "  ");
  EXPECT_EQ(info.get("key"), std::nullopt);
  EXPECT_EQ(info.get("none"), "");
}

TEST(Info, RefusesWhatIsEmptyOrTooLong) {
  Info info;
  const std::string key(Info::key_bytes_max, 'k');
  const std::string value(Info::value_bytes_max, 'v');
  EXPECT_TRUE(info.set(key, value).ok());
  EXPECT_EQ(code(info.set("", "v")), static_cast<int>(ErrorClass::info_key));
  EXPECT_EQ(code(info.set(key + "k", "v")), static_cast<int>(ErrorClass::info_key));
  EXPECT_EQ(code(info.set("k", value + "v")), static_cast<int>(ErrorClass::info_value));
  EXPECT_EQ(code(info.erase("")), static_cast<int>(ErrorClass::info_key));
  EXPECT_EQ(code(info.erase(key + "k")), static_cast<int>(ErrorClass::info_key));
  EXPECT_EQ(info.size(), 1);
}

TEST(Info, AbsentKeys) {
  Info info;
  EXPECT_EQ(code(info.erase("x")), static_cast<int>(ErrorClass::info_nokey));
  EXPECT_EQ(info.get(""), std::nullopt);
  EXPECT_EQ(code(info.key(0)), static_cast<int>(ErrorClass::arg));
  EXPECT_EQ(code(info.key(-1)), static_cast<int>(ErrorClass::arg));
}

TEST(Info, DuplicatesAreIndependent) {
  Info info;
  ASSERT_TRUE(info.set("k", "old").ok());
  info.set_handle(7);
  const Ref<Info> copy = info.duplicate();
  ASSERT_TRUE(info.set("k", "new").ok());
  EXPECT_EQ(copy->get("k"), "old");
  EXPECT_EQ(copy->handle(), 0U);
}

}  // namespace
}  // namespace hawser::core
