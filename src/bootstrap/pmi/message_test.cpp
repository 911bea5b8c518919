#include "bootstrap/pmi/message.hpp"

#include <gtest/gtest.h>

#include "bootstrap/pmi/process_mapping.hpp"

namespace hawser::bootstrap::pmi {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST(PmiMessage, HasACommandAndFields) {
  const auto message = parse_message("cmd=get_result rc=0 msg=success value=(vector,(0,2,4))");
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->command, "get_result");
  EXPECT_EQ(message->text("value"), "(vector,(0,2,4))");
  EXPECT_EQ(message->text("other"), "");
  EXPECT_EQ(message->number("rc"), 0);
  EXPECT_EQ(message->number("msg"), std::nullopt);
  EXPECT_TRUE(message->is_success());
}

TEST(PmiMessage, TellsOfFailures) {
  EXPECT_FALSE(parse_message("cmd=get_result rc=-1 msg=key_not_found value=unknown")->is_success());
  EXPECT_FALSE(parse_message("cmd=get_result rc=x")->is_success());
  EXPECT_TRUE(parse_message("cmd=barrier_out")->is_success());
  EXPECT_TRUE(parse_message("cmd=publish_result info=ok")->is_success());
  EXPECT_FALSE(parse_message("cmd=publish_result info=fail")->is_success());
}

TEST(PmiMessage, IsRefusedWithoutACommand) {
  for (const char* line : {"", " ", "cmd", "cmd=", "rc=0", "=cmd"})
    EXPECT_FALSE(parse_message(line).has_value()) << line;
  EXPECT_EQ(parse_message("  msg=not a field  cmd=x=y cmd=z ")->command, "x=y");
}

TEST(PmiProcessMapping, BlocksAreReadInOrder) {
  EXPECT_EQ(parse_mapping("(vector,(0,2,4))"), (Mapping{{0, 2, 4}}));
  EXPECT_EQ(parse_mapping("(vector,(0,1,2),(5,3,1))"), (Mapping{{0, 1, 2}, {5, 3, 1}}));
}

TEST(PmiProcessMapping, WhatPlacesNobodyIsRefused) {
  for (const char* text :
       {"", "(vector)", "(vector,)", "(vector,(0,2))", "(vector,(0,2,4)", "(vector,(0,0,4))",
        "(vector,(0,2,0))", "(vector,(-1,2,4))", "(vector,(0,2,4)) ", "(matrix,(0,2,4))",
        "(vector,(0,2,99999999999))", "(vector,(0,2,4000000000))"})
    EXPECT_EQ(parse_mapping(text), std::nullopt) << text;
}

TEST(PmiProcessMapping, RanksLieSideBySide) {
  const Mapping blocks{{0, 2, 3}};
  EXPECT_EQ(ranks_beside(blocks, 1, 6), (Ranks{0, 1, 2}));
  EXPECT_EQ(ranks_beside(blocks, 3, 6), (Ranks{3, 4, 5}));
  EXPECT_EQ(ranks_beside(blocks, 3, 5), (Ranks{3, 4}));
}

TEST(PmiProcessMapping, NodesRepeatUntilAllHaveOne) {
  const Mapping cyclic{{0, 3, 1}};
  EXPECT_EQ(ranks_beside(cyclic, 4, 8), (Ranks{1, 4, 7}));
  EXPECT_EQ(ranks_beside({{0, 1, 2}, {1, 1, 1}, {0, 0, 7}}, 0, 7), (Ranks{0, 1, 3, 4, 6}));
  EXPECT_EQ(ranks_beside({{0, 1, INT32_MAX}}, 0, 3), (Ranks{0, 1, 2}));
}

}  // namespace
}  // namespace hawser::bootstrap::pmi
