#include "platform/line_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace hawser::platform {
namespace {

struct Pair {
  explicit Pair(std::size_t line_bytes_max = 64) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    here = std::make_unique<LineSocket>(FileDescriptor(ends[0]), line_bytes_max);
    there = FileDescriptor(ends[1]);
  }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(there.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::unique_ptr<LineSocket> here;
  FileDescriptor there;
};

TEST(LineSocket, LinesComeInPiecesAndSeveralAtOnce) {
  const Pair pair;
  EXPECT_EQ(*pair.here->try_receive(), std::nullopt);
  pair.write("cmd=");
  EXPECT_EQ(*pair.here->try_receive(), std::nullopt);
  pair.write("one\ncmd=two\n\ncm");
  EXPECT_EQ(*pair.here->receive(), "cmd=one");
  EXPECT_EQ(*pair.here->try_receive(), "cmd=two");
  EXPECT_EQ(*pair.here->receive(), "");
  EXPECT_EQ(*pair.here->try_receive(), std::nullopt);
}

TEST(LineSocket, WhatTheOtherSideHasNotReadIsKnown) {
  const Pair pair;
  EXPECT_FALSE(pair.here->has_unread());
  ASSERT_TRUE(pair.here->send("hello").ok());
  EXPECT_TRUE(pair.here->has_unread());
  std::array<char, 16> bytes{};
  EXPECT_EQ(::read(pair.there.get(), bytes.data(), bytes.size()), 6);
  EXPECT_FALSE(pair.here->has_unread());
}

TEST(LineSocket, ALineIsSentWithItsEnd) {
  const Pair pair;
  ASSERT_TRUE(pair.here->send("hello").ok());
  std::array<char, 16> bytes{};
  EXPECT_EQ(::read(pair.there.get(), bytes.data(), bytes.size()), 6);
  EXPECT_EQ(std::string(bytes.data()), "hello\n");
}

TEST(LineSocket, AClosedEndIsAnErrorAndNoSignal) {
  Pair pair;
  pair.there.close();
  EXPECT_FALSE(pair.here->receive().ok());
  EXPECT_FALSE(pair.here->try_receive().ok());
  EXPECT_FALSE(pair.here->send("hello").ok());
}

TEST(LineSocket, ALineWithoutAnEndIsRefused) {
  const Pair pair(64);
  pair.write(std::string(100, 'x'));
  EXPECT_FALSE(pair.here->receive().ok());
}

TEST(LineSocket, TellsSocketsFromOthers) {
  const Pair pair;
  EXPECT_TRUE(is_socket(pair.there.get()));
  EXPECT_FALSE(is_socket(99999));
  EXPECT_FALSE(is_socket(create_anonymous_file("file", 16)->get()));
}

}  // namespace
}  // namespace hawser::platform
