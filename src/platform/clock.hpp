// The monotonic clock, and the instruction that tells a core that it is polling.
#pragma once

#include <cstdint>

namespace hawser::platform {

/// Nanoseconds of CLOCK_MONOTONIC.
std::uint64_t monotonic_ns();

/// Lets other processes have this core first.
void yield_cpu();

/// One pause of a polling loop.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace hawser::platform
