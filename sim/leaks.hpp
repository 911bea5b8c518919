// ExpectedLeaks: while one lives, what is allocated may be left behind: by a process that was
// killed, or a job that broke off. Does nothing but under the leak sanitizer.
//
// Threads: counts per thread.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HAWSER_SIM_FINDS_LEAKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAWSER_SIM_FINDS_LEAKS 1
#endif
#endif
#if defined(HAWSER_SIM_FINDS_LEAKS)
#include <sanitizer/lsan_interface.h>
#endif

namespace hawser::sim {

class ExpectedLeaks {
 public:
  explicit ExpectedLeaks(bool are_expected = true) : are_expected_(are_expected) {
#if defined(HAWSER_SIM_FINDS_LEAKS)
    if (are_expected_) __lsan_disable();
#endif
  }
  ~ExpectedLeaks() {
#if defined(HAWSER_SIM_FINDS_LEAKS)
    if (are_expected_) __lsan_enable();
#endif
  }
  ExpectedLeaks(const ExpectedLeaks&) = delete;
  ExpectedLeaks& operator=(const ExpectedLeaks&) = delete;

 private:
  [[maybe_unused]] const bool are_expected_;
};

}  // namespace hawser::sim
