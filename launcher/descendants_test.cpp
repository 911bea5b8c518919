#include "launcher/descendants.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace hawser::launcher {
namespace {

TEST(Descendants, TheNameOfACommandMayContainAnything) {
  EXPECT_EQ(parent_in_stat_line("12 (sh) S 7 12 12 0"), 7);
  EXPECT_EQ(parent_in_stat_line("12 (a) S 99 (b)) R 7 1"), 7);
  EXPECT_EQ(parent_in_stat_line("12 (gone) Z 7 1"), 0);
  for (const char* broken : {"", "12", "12 (sh)", "12 (sh) S", "12 (sh) S x"})
    EXPECT_EQ(parent_in_stat_line(broken), 0) << broken;
}

TEST(Descendants, FindsGrandchildrenAndSparesTheExcluded) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      const pid_t self = ::getpid();
      [[maybe_unused]] const auto written = ::write(ends[1], &self, sizeof(self));
    }
    ::pause();
    ::_exit(0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ends[0], &grandchild, sizeof(grandchild)),
            static_cast<ssize_t>(sizeof(grandchild)));
  EXPECT_EQ(children(), std::vector<pid_t>{child});
  std::vector<pid_t> found = descendants({});
  std::sort(found.begin(), found.end());
  std::vector<pid_t> expected{child, grandchild};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(descendants(std::vector<pid_t>{child}).empty());
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace hawser::launcher
