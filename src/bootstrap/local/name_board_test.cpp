#include "bootstrap/local/name_board.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hawser::bootstrap {
namespace {

std::string name(std::string_view what) { return fmt::format("{} {}", what, ::getpid()); }

TEST(NameBoard, SaysWhatIsBehindAName) {
  NameBoard board;
  ASSERT_TRUE(board.publish(name("one"), "first").ok());
  ASSERT_TRUE(board.publish(name("two"), std::string(1000, 'x')).ok());
  EXPECT_EQ(*NameBoard::look_up(name("one")), "first");
  EXPECT_EQ(*NameBoard::look_up(name("two")), std::string(1000, 'x'));
  const base::Result<std::string> missing = NameBoard::look_up(name("three"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), static_cast<int>(base::ErrorClass::name));
}

TEST(NameBoard, ANameIsTakenUntilItIsGivenBack) {
  NameBoard board;
  NameBoard other;
  ASSERT_TRUE(board.publish(name("one"), "first").ok());
  const base::Result<void> again = other.publish(name("one"), "second");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), static_cast<int>(base::ErrorClass::service));
  EXPECT_FALSE(other.unpublish(name("one")).ok());
  ASSERT_TRUE(board.unpublish(name("one")).ok());
  EXPECT_FALSE(NameBoard::look_up(name("one")).ok());
  EXPECT_TRUE(other.publish(name("one"), "second").ok());
}

TEST(NameBoard, NamesEndWithTheirBoard) {
  {
    NameBoard board;
    ASSERT_TRUE(board.publish(name("one"), "first").ok());
  }
  EXPECT_FALSE(NameBoard::look_up(name("one")).ok());
}

}  // namespace
}  // namespace hawser::bootstrap
