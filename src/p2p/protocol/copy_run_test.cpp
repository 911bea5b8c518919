#include "p2p/protocol/copy_run.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hawser::p2p {
namespace {

constexpr std::int64_t longest_piece = 1 << 20;
constexpr int a_peer = 0, another_peer = 0;

TEST(CopyRun, TakesPiecesOfOnePeer) {
  CopyRun run(longest_piece);
  EXPECT_TRUE(run.add(&a_peer, 100, 200, 10));
  EXPECT_FALSE(run.add(&another_peer, 300, 400, 10));
  EXPECT_TRUE(run.add(&a_peer, 500, 600, 20));
  ASSERT_EQ(run.count(), 2U);
  EXPECT_EQ(run.bytes(), 30U);
  EXPECT_EQ(run.local()[1].address, 500U);
  EXPECT_EQ(run.remote()[1].address, 600U);
  EXPECT_EQ(run.local()[1].bytes, 20U);
}

TEST(CopyRun, TakesSoManyAndSoMuch) {
  CopyRun many(longest_piece);
  for (std::size_t i = 0; i < CopyRun::pieces_max; ++i) EXPECT_TRUE(many.add(&a_peer, 1, 1, 1));
  EXPECT_FALSE(many.add(&a_peer, 1, 1, 1));
  CopyRun much(longest_piece);
  EXPECT_TRUE(much.add(&a_peer, 1, 1, 2 * longest_piece));
  EXPECT_EQ(much.bytes(), std::size_t{longest_piece}) << "a chunk of it";
  EXPECT_FALSE(much.add(&a_peer, 1, 1, 1));
}

TEST(CopyRun, WhatWasCopiedIsThatOfTheFirstPieces) {
  CopyRun run(longest_piece);
  for (int i = 0; i < 3; ++i) run.add(&a_peer, 1, 1, 100);
  std::map<std::size_t, std::size_t> copied;
  const auto note = [&](std::size_t number, std::size_t bytes) { copied[number] = bytes; };
  EXPECT_TRUE(run.distribute(150, note));
  EXPECT_EQ(copied, (std::map<std::size_t, std::size_t>{{0, 100}, {1, 50}}));
  copied.clear();
  EXPECT_TRUE(run.distribute(300, note));
  EXPECT_EQ(copied.size(), 3U);
  copied.clear();
  EXPECT_FALSE(run.distribute(-1, note));
  EXPECT_TRUE(copied.empty());
}

TEST(CopyRun, WhoNeedsMoreComesBehindTheOthers) {
  const auto is_odd = [](int number) { return number % 2 != 0; };
  std::vector<int> list = {1, 2, 3, 4, 5};
  put_behind(list, 3, is_odd);
  EXPECT_EQ(list, (std::vector<int>{2, 4, 5, 1, 3}));
  put_behind(list, 2, is_odd);
  EXPECT_EQ(list, (std::vector<int>{2, 4, 5, 1, 3})) << "none of those";
  put_behind(list, 0, is_odd);
  put_behind(list, 5, is_odd);
  EXPECT_EQ(list, (std::vector<int>{2, 4, 5, 1, 3}));
}

}  // namespace
}  // namespace hawser::p2p
