#include "hawser/child.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "platform/clock.hpp"
#include "platform/futex.hpp"

namespace hawser::tools {

base::Result<Child> Child::start(const std::function<int()>& body) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return base::Error(base::ErrorClass::other, fmt::format("fork: {}", std::strerror(errno)));
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before that call.
    ::_exit(::getppid() == parent ? body() : 1);
  }
  return Child(pid);
}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<int> Child::wait(std::uint64_t timeout_ns) {
  constexpr timespec pause{0, 1'000'000};
  const std::uint64_t deadline = platform::monotonic_ns() + timeout_ns;
  do {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    }
    ::nanosleep(&pause, nullptr);
  } while (platform::monotonic_ns() < deadline);
  return std::nullopt;
}

bool wait_while(std::atomic<std::uint32_t>& word, std::uint32_t old) {
  const std::uint64_t deadline = platform::monotonic_ns() + child_timeout_ns;
  while (word.load(std::memory_order_acquire) == old) {
    if (platform::monotonic_ns() >= deadline) return false;
    platform::futex_wait(word, old, child_timeout_ns);
  }
  return true;
}

void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  platform::futex_wake_all(word);
}

}  // namespace hawser::tools
