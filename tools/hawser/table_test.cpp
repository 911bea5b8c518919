#include "hawser/table.hpp"

#include <gtest/gtest.h>

namespace hawser::tools {
namespace {

TEST(Table, AlignsColumns) {
  Table table({{"name"}, {"n", Align::right}, {"note"}});
  table.add_row({"a", "1000", "first"});
  table.add_row({"longer", "7", ""});
  EXPECT_EQ(table.text(),
            "  name       n  note\n"
            "  a       1000  first\n"
            "  longer     7\n");
}

TEST(Table, OfTwoColumnsIsATable) {
  Table table({{"a"}, {"b"}});
  table.add_row({"1", "2"});
  EXPECT_EQ(table.text(), "  a  b\n  1  2\n");
}

TEST(FormatBytes, TakesTheUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1023), "1023");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(FormatCount, KnowsOne) {
  EXPECT_EQ(format_count(0, "rank"), "0 ranks");
  EXPECT_EQ(format_count(1, "rank"), "1 rank");
}

}  // namespace
}  // namespace hawser::tools
