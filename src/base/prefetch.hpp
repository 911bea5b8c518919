// Asking for a cache line before it is needed.
#pragma once

namespace hawser::base {

/// LINE is going to be read: this core asks for it now, and goes on without waiting.
inline void prefetch_for_read(const void* line) {
  __builtin_prefetch(line);
  asm volatile("");  // a function that only prefetches does nothing, GCC thinks, and is not called
}

/// LINE is going to be written: this core asks for it now, and goes on without waiting.
inline void prefetch_for_write(const void* line) {
#if defined(__x86_64__)
  // The compiler takes the instruction only where every processor of the target has it; older ones
  // ignore it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace hawser::base
