// Relaxed: a number of a guess that several threads make together. Each reads and writes it as it
// is, in no order: a change that is lost among them must do no harm.
//
// Ownership: a member of the object that guesses. Threads: any number at a time.
#pragma once

#include <atomic>
#include <concepts>

namespace hawser::base {

template <std::integral T>
class Relaxed {
 public:
  explicit constexpr Relaxed(T value) : value_(value) {}
  operator T() const { return value_.load(std::memory_order_relaxed); }
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<T> value_;
};

}  // namespace hawser::base
