#include "platform/clock.hpp"

#include <sched.h>
#include <time.h>

namespace hawser::platform {

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void yield_cpu() { ::sched_yield(); }

}  // namespace hawser::platform
