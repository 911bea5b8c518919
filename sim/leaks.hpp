// ExpectedLeaks: while one lives, what is allocated may be left behind: by a process that was
// killed, or a job that broke off. Does nothing but under the leak sanitizer.
//
// Threads: counts per thread.
#pragma once

#include "base/sanitizers.hpp"

#if HAWSER_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace hawser::sim {

class ExpectedLeaks {
 public:
  explicit ExpectedLeaks(bool are_expected = true) : are_expected_(are_expected) {
#if HAWSER_ADDRESS_SANITIZER
    if (are_expected_) __lsan_disable();
#endif
  }
  ~ExpectedLeaks() {
#if HAWSER_ADDRESS_SANITIZER
    if (are_expected_) __lsan_enable();
#endif
  }
  ExpectedLeaks(const ExpectedLeaks&) = delete;
  ExpectedLeaks& operator=(const ExpectedLeaks&) = delete;

 private:
  [[maybe_unused]] const bool are_expected_;
};

}  // namespace hawser::sim
