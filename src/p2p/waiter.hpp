// Waiter: how a process waits when progress finds nothing (DESIGN §6). Real processes spin, then
// sleep on their wake word; in a simulation a waiter switches to the next fiber.
//
// Protocol:  prepare(); look once more for work; then sleep(), or cancel() if there was some.
//            A wake-up after prepare() makes the following sleep() return at once.
// Threads:   prepare/sleep/cancel may be called by several threads of a process at a time; wake()
//            by any thread.
#pragma once

#include <cstdint>

namespace hawser::p2p {

class Waiter {
 public:
  virtual ~Waiter() = default;
  /// How long to poll before it is worth to sleep; 0: at once.
  [[nodiscard]] virtual std::uint64_t spin_ns() const = 0;
  [[nodiscard]] virtual std::uint64_t now_ns() const = 0;
  /// Between two polls of a spinning waiter.
  virtual void relax() = 0;
  /// The ticket that sleep() wants: several threads of a process may wait at a time.
  virtual std::uint32_t prepare() = 0;
  virtual void sleep(std::uint32_t ticket) = 0;
  virtual void cancel() = 0;
  /// Wakes every thread of this process that sleeps here.
  virtual void wake() = 0;
};

}  // namespace hawser::p2p
