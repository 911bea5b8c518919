// Checks between processes: waking, ordering, copying from one to the other.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "hawser/child.hpp"
#include "hawser/doctor.hpp"
#include "platform/cgroup.hpp"
#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/process.hpp"
#include "platform/this_process.hpp"

namespace hawser::tools {
namespace {

using Word = std::atomic<std::uint32_t>;

constexpr const char* fork_cure = "raise the limit of processes (ulimit -u, pids.max).";

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

// Copying: a child fills a buffer, in memory that is its own since the fork; another process reads
// it there.

constexpr std::size_t copied_bytes = 64UL * 1024;
constexpr std::byte expected{0x5a};

using Buffer = std::vector<std::byte>;

int hold_filled(Buffer* buffer, Word& filled, Word& done) {
  platform::let_read_us(::getppid());  // as the ranks of a job do
  std::fill(buffer->begin(), buffer->end(), expected);
  publish(filled, 1);
  wait_while(done, 0);
  return 0;
}

/// 0, or the error number with which the system refused; EIO if it copied something else.
int copy_refusal(pid_t pid, const Buffer& buffer) {
  Buffer copy(buffer.size());
  const platform::MemoryPiece local{reinterpret_cast<std::uintptr_t>(copy.data()), copy.size()};
  const platform::MemoryPiece remote{reinterpret_cast<std::uintptr_t>(buffer.data()),
                                     buffer.size()};
  const std::int64_t copied = platform::read_memory(pid, {&local, 1}, {&remote, 1});
  if (copied < 0) return static_cast<int>(-copied);
  const bool is_whole = copied == static_cast<std::int64_t>(copy.size());
  const bool is_right =
      std::all_of(copy.begin(), copy.end(), [](std::byte byte) { return byte == expected; });
  return is_whole && is_right ? 0 : EIO;
}

bool has_seccomp_filter() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Seccomp:")) return line.ends_with('2');
  return false;
}

Finding copy_finding(const char* check, int refusal) {
  constexpr const char* effect = "large messages are copied twice";
  if (refusal == 0) return {Verdict::ok, check, "process_vm_readv works."};
  if (refusal == ENOSYS) {
    return {Verdict::warn, check, fmt::format("this kernel has no process_vm_readv; {}.", effect),
            "a kernel with CONFIG_CROSS_MEMORY_ATTACH."};
  }
  const std::string yama = platform::read_line("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (refusal == EPERM && yama != "0") {
    return {Verdict::warn, check,
            fmt::format("refused, since Yama's ptrace_scope is {}; {}.", yama, effect),
            "sysctl -w kernel.yama.ptrace_scope=0."};
  }
  if (refusal == EPERM && has_seccomp_filter()) {
    return {Verdict::warn, check,
            fmt::format("refused, probably by the container's seccomp profile; {}.", effect),
            "docker run --cap-add=SYS_PTRACE."};
  }
  return {Verdict::warn, check, fmt::format("{}; {}.", std::strerror(refusal), effect)};
}

}  // namespace

Finding check_futex() {
  constexpr const char* check = "futex";
  constexpr std::uint32_t rounds = 1000;
  struct Words {
    Word ping{0};
    Word pong{0};
  };
  const auto words = SharedPage<Words>::make();
  if (!words.ok()) return {Verdict::fail, check, words.error().sentence() + "."};
  auto child = Child::start([&] {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      if (!wait_while((*words)->ping, round)) return 1;
      publish((*words)->pong, round + 1);
    }
    return 0;
  });
  if (!child.ok()) return {Verdict::fail, check, child.error().sentence() + ".", fork_cure};
  const std::uint64_t start = platform::monotonic_ns();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    publish((*words)->ping, round + 1);
    if (!wait_while((*words)->pong, round))
      return {Verdict::fail, check, "a process that sleeps on a shared word is not woken."};
  }
  const std::uint64_t per_wake = (platform::monotonic_ns() - start) / (2ULL * rounds);
  return {Verdict::ok, check,
          fmt::format("one process wakes another in {:.1f} us.", microseconds(per_wake))};
}

Finding check_barrier() {
  constexpr const char* check = "membarrier";
  constexpr std::uint64_t rounds = 100;
  if (!platform::register_global_barrier()) {
    return {
        Verdict::warn, check,
        fmt::format("not available ({}); senders pay for a fence instead.", std::strerror(errno)),
        "Linux 4.16 and a seccomp profile that allows membarrier."};
  }
  const std::uint64_t start = platform::monotonic_ns();
  for (std::uint64_t round = 0; round < rounds; ++round) platform::global_barrier();
  const std::uint64_t each = (platform::monotonic_ns() - start) / rounds;
  return {Verdict::ok, check, fmt::format("global expedited, {:.1f} us.", microseconds(each))};
}

Finding check_copy_from_child() {
  constexpr const char* check = "copy from a child";
  struct Words {
    Word filled{0};
    Word done{0};
  };
  const auto words = SharedPage<Words>::make();
  if (!words.ok()) return {Verdict::fail, check, words.error().sentence() + "."};
  Buffer buffer(copied_bytes);
  const auto holder =
      Child::start([&] { return hold_filled(&buffer, (*words)->filled, (*words)->done); });
  if (!holder.ok()) return {Verdict::fail, check, holder.error().sentence() + ".", fork_cure};
  if (!wait_while((*words)->filled, 0))
    return {Verdict::fail, check, "the child did not run within two seconds."};
  return copy_finding(check, copy_refusal(holder->pid(), buffer));
}

Finding check_copy_between_siblings() {
  constexpr const char* check = "copy between siblings";
  struct Words {
    Word filled{0};
    Word done{0};
  };
  const auto words = SharedPage<Words>::make();
  if (!words.ok()) return {Verdict::fail, check, words.error().sentence() + "."};
  Buffer buffer(copied_bytes);
  const auto holder =
      Child::start([&] { return hold_filled(&buffer, (*words)->filled, (*words)->done); });
  if (!holder.ok()) return {Verdict::fail, check, holder.error().sentence() + ".", fork_cure};
  auto reader = Child::start([&] {
    return wait_while((*words)->filled, 0) ? copy_refusal(holder->pid(), buffer) : ETIMEDOUT;
  });
  if (!reader.ok()) return {Verdict::fail, check, reader.error().sentence() + ".", fork_cure};
  return copy_finding(check, reader->wait(child_timeout_ns).value_or(ETIMEDOUT));
}

Finding check_process_descriptor() {
  constexpr const char* check = "pidfd";
  auto child = Child::start([] {
    ::pause();
    return 0;
  });
  if (!child.ok()) return {Verdict::fail, check, child.error().sentence() + ".", fork_cure};
  const platform::FileDescriptor descriptor(
      static_cast<int>(::syscall(SYS_pidfd_open, child->pid(), 0)));
  if (!descriptor.is_open()) {
    return {Verdict::warn, check,
            fmt::format("not available ({}); the death of a rank is found by its pid.",
                        std::strerror(errno)),
            "Linux 5.3 and a seccomp profile that allows pidfd_open."};
  }
  ::kill(child->pid(), SIGKILL);
  pollfd ended{descriptor.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(child_timeout_ns / 1'000'000)) != 1)
    return {Verdict::warn, check, "the end of a process was not told within two seconds."};
  return {Verdict::ok, check, "the end of a process is told."};
}

}  // namespace hawser::tools
