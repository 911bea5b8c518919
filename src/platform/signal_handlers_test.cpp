#include "platform/signal_handlers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::platform {
namespace {

void ignore_signal(int /*number*/) {}
void ignore_signal_too(int /*number*/) {}

TEST(KeptSignalHandlers, AreWhatTheyWereBefore) {
  const auto before = ::signal(SIGUSR1, ignore_signal);
  {
    const KeptSignalHandlers kept;
    ::signal(SIGUSR1, ignore_signal_too);
    ::signal(SIGHUP, ignore_signal_too);
  }
  EXPECT_EQ(::signal(SIGHUP, SIG_DFL), SIG_DFL);
  EXPECT_EQ(::signal(SIGUSR1, before), ignore_signal);
}

TEST(KeptSignalHandlers, SoIsTheAlternateStack) {
  stack_t before{};
  ::sigaltstack(nullptr, &before);
  std::vector<char> memory(std::size_t{1} << 16);
  {
    const KeptSignalHandlers kept;
    const stack_t other{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    ASSERT_EQ(::sigaltstack(&other, nullptr), 0);
  }
  stack_t after{};
  ::sigaltstack(nullptr, &after);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

}  // namespace
}  // namespace hawser::platform
