// Fiber: a function with a stack of its own that can be suspended anywhere in it, and resumed by
// the thread that owns it.
//
// Ownership: owns its stack, below which lies a guard page. Destroy it when it is done or was never
//            resumed: what lives on a suspended stack would not be destroyed with it.
// Threads:   one. resume() is called from outside, suspend() from inside of the body.
// Errors:    the body must not throw.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace hawser::sim {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends itself or ends.
  void resume();
  void suspend();
  [[nodiscard]] bool is_done() const { return done_; }

 private:
  /// What a sanitizer wants to know about one of the two stacks; unused without one.
  struct Side {
    void* handle = nullptr;  // ASan: its saved fake stack; TSan: its fiber
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
  };
  static void enter(unsigned high, unsigned low);
  void switch_to_fiber();
  void switch_to_owner(bool for_ever);

  std::function<void()> body_;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  ucontext_t context_{};
  ucontext_t owner_{};
  Side fiber_side_;
  Side owner_side_;
  bool done_ = false;
};

}  // namespace hawser::sim
