// Asking for a cache line before it is needed.
#pragma once

#include <cstddef>

#include "base/cache_line.hpp"

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

/// ASK(place), one of the above, for every place a line further in the BYTES from MEMORY on.
template <class Ask>
void ask_for_lines(const std::byte* memory, std::size_t bytes, const Ask& ask) {
  for (std::size_t at = 0; at < bytes; at += cache_line_bytes) ask(memory + at);
}

/// Whether prefetch_for_write() takes a line away from cores that have read it, so that a store to
/// it finds it there: with Intel's processors (a Xeon of 2026); with AMD's it depends on where the
/// cores are (EPYC 9004; decision 0032).
inline bool prefetch_takes_from_readers() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

}  // namespace hawser::base
