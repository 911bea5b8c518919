// Assertions for bugs of our own; what the world does wrong is a Result instead.
//
// HAWSER_ASSERT is checked in every build: it guards invariants whose breach would corrupt a user's
// data. HAWSER_DEBUG_ASSERT is checked in debug and sanitizer builds: it may stand on a fast path.
#pragma once

namespace hawser::base {

/// Prints "hawser: FILE:LINE: CONDITION does not hold" and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace hawser::base

#define HAWSER_ASSERT(condition) \
  (static_cast<bool>(condition)  \
       ? static_cast<void>(0)    \
       : ::hawser::base::assertion_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define HAWSER_DEBUG_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define HAWSER_DEBUG_ASSERT(condition) HAWSER_ASSERT(condition)
#endif
