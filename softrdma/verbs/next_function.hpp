// NextFunction: the function of the C library that a program would call without us.
//
// Threads: any; also in signal handlers, once it has been called.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace softrdma::verbs {

/// Looked up at the first call. Who is first at the same time does it twice, with the same result.
template <class Function>
class NextFunction {
 public:
  explicit constexpr NextFunction(const char* name) : name_(name) {}
  Function* get() {
    Function* next = next_.load(std::memory_order_relaxed);
    if (next != nullptr) return next;
    next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    next_.store(next, std::memory_order_relaxed);
    return next;
  }

 private:
  const char* const name_;
  std::atomic<Function*> next_{nullptr};
};

}  // namespace softrdma::verbs
