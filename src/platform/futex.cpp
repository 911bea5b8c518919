#include "platform/futex.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace hawser::platform {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::uint64_t timeout_ns) {
  timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000U),
                   static_cast<long>(timeout_ns % 1'000'000'000U)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeout_ns == 0 ? nullptr : &timeout, nullptr,
            0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool register_global_barrier() {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void global_barrier() { ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

}  // namespace hawser::platform
