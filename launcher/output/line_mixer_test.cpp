#include "launcher/output/line_mixer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace hawser::launcher {
namespace {

using Waiting = LineMixer::Waiting;

TEST(LineMixer, PassesCompleteLinesAndKeepsTheRest) {
  LineMixer mixer;
  const auto a = mixer.add_stream("", Waiting::for_lines);
  const auto b = mixer.add_stream("", Waiting::for_lines);
  std::string out;
  mixer.feed(a, "al", &out);
  mixer.feed(b, "beta\nbe", &out);
  EXPECT_EQ(out, "beta\n");
  mixer.feed(a, "pha\n\nx", &out);
  EXPECT_EQ(out, "beta\nalpha\n\n");
  mixer.close(b, &out);
  EXPECT_EQ(out, "beta\nalpha\n\nbe");
  mixer.close(a, &out);  // does not continue what b wrote
  EXPECT_EQ(out, "beta\nalpha\n\nbe\nx");
}

TEST(LineMixer, PrefixesEachLineOnce) {
  LineMixer mixer;
  const auto a = mixer.add_stream("[0] ", Waiting::for_lines);
  const auto b = mixer.add_stream("[1] ", Waiting::for_lines);
  std::string out;
  mixer.feed(a, "one\n\ntwo", &out);
  mixer.feed(b, "three\n", &out);
  mixer.close(a, &out);
  mixer.close(b, &out);
  EXPECT_EQ(out, "[0] one\n[0] \n[1] three\n[0] two\n");
}

TEST(LineMixer, AVeryLongLineIsPassedOnInPieces) {
  LineMixer mixer;
  const auto a = mixer.add_stream("[0] ", Waiting::for_lines);
  const auto b = mixer.add_stream("[1] ", Waiting::for_lines);
  const std::string half(LineMixer::line_bytes_max / 2, 'x');
  std::string out;
  mixer.feed(a, half, &out);
  EXPECT_EQ(out, "");
  mixer.feed(a, half, &out);
  EXPECT_EQ(out, "[0] " + half + half);
  mixer.feed(a, "y\n", &out);
  EXPECT_EQ(out, "[0] " + half + half + "y\n");  // the same line, hence no second prefix
  mixer.feed(a, half + half, &out);
  out.clear();
  mixer.feed(b, "b\n", &out);
  mixer.feed(a, "z\n", &out);
  EXPECT_EQ(out, "\n[1] b\n[0] z\n");
}

TEST(LineMixer, APromptDoesNotWait) {
  LineMixer mixer;
  const auto a = mixer.add_stream("", Waiting::never);
  std::string out;
  mixer.feed(a, "name? ", &out);
  EXPECT_EQ(out, "name? ");
}

TEST(LineMixer, OneStreamPassesUnchangedHoweverItIsCut) {
  std::mt19937 random(4);
  for (const Waiting waiting : {Waiting::for_lines, Waiting::never}) {
    std::string sent;
    std::string out;
    LineMixer mixer;
    const auto stream = mixer.add_stream("", waiting);
    for (int piece = 0; piece < 500; ++piece) {
      std::string bytes(random() % 600, '\0');
      for (char& c : bytes) c = static_cast<char>(random() % 8 == 0 ? '\n' : random() % 256);
      sent += bytes;
      mixer.feed(stream, bytes, &out);
    }
    mixer.close(stream, &out);
    EXPECT_EQ(out, sent);
  }
}

TEST(LineMixer, LinesOfManyStreamsKeepWholeAndInOrder) {
  constexpr std::size_t streams = 5;
  constexpr int lines = 200;
  std::mt19937 random(5);
  LineMixer mixer;
  std::vector<std::string> left(streams);
  for (std::size_t s = 0; s < streams; ++s) {
    mixer.add_stream(std::to_string(s) + ":", Waiting::for_lines);
    for (int line = 0; line < lines; ++line)
      left[s] += std::to_string(line) + std::string(random() % 40, 'x') + "\n";
  }
  std::string out;
  for (std::size_t open = streams; open > 0;) {
    const std::size_t s = random() % streams;
    if (left[s].empty()) continue;
    const std::size_t bytes = std::min<std::size_t>(left[s].size(), random() % 60);
    mixer.feed(s, left[s].substr(0, bytes), &out);
    left[s].erase(0, bytes);
    if (left[s].empty()) --open;
  }
  std::vector<int> next(streams);
  std::istringstream all(out);
  for (std::string line; std::getline(all, line);) {
    const auto s = static_cast<std::size_t>(line[0] - '0');
    ASSERT_LT(s, streams);
    ASSERT_EQ(line.substr(2, line.find('x') - 2), std::to_string(next[s]++));
    ASSERT_EQ(line.find(':', 2), std::string::npos);
  }
  EXPECT_EQ(next, std::vector<int>(streams, lines));
}

}  // namespace
}  // namespace hawser::launcher
