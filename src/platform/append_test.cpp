#include "platform/append.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace hawser::platform {
namespace {

TEST(Append, MakesTheFileAndKeepsWhatIsThere) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a";
  ASSERT_TRUE(append_to_file(path, "one\n").ok());
  ASSERT_TRUE(append_to_file(path, "two\n").ok());
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "one\ntwo\n");
}

TEST(Append, LinesOfSeveralWritersDoNotMix) {
  constexpr std::size_t writers = 4;
  constexpr std::size_t lines_each = 50;
  constexpr std::size_t line_bytes = 20'000;  // more than a page
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a";
  std::vector<std::thread> threads;
  for (std::size_t writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, letter = static_cast<char>('a' + writer)] {
      for (std::size_t i = 0; i < lines_each; ++i)
        EXPECT_TRUE(append_to_file(path, std::string(line_bytes, letter) + '\n').ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ifstream file(path);
  std::map<std::string, std::size_t> seen;
  for (std::string line; std::getline(file, line);) ++seen[line];
  EXPECT_EQ(seen.size(), writers);
  for (const auto& [line, count] : seen) {
    EXPECT_EQ(line.size(), line_bytes);
    EXPECT_EQ(count, lines_each);
  }
}

TEST(Append, SaysWhyItCannot) {
  const base::Result<void> result = append_to_file("/nonexistent/a", "x");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().sentence(), "opening '/nonexistent/a': No such file or directory");
  EXPECT_EQ(append_to_file("/dev/full", "x").error().sentence(),
            "writing to '/dev/full': No space left on device");
}

}  // namespace
}  // namespace hawser::platform
