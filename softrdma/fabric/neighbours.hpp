// Neighbours: the memory of the other processes of a host, copied to and from by the kernel.
//
// Whoever copies says so in its seat before it looks whether it still may; whoever takes memory
// back forbids it first and then waits for those who have said so. So nobody copies after the owner
// has waited, and the owner waits for copies only.
//
// Ownership: borrows host. Threads: the device's lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>

#include "softrdma/fabric/host.hpp"

namespace softrdma::fabric {

class Neighbours {
 public:
  explicit Neighbours(Host& host) : host_(host) {}

  /// While it lives, the process on SEAT knows that we are at its memory.
  class Visit {
   public:
    Visit(const Neighbours& neighbours, std::uint16_t seat)
        : visits_(neighbours.host_.seat_memory(neighbours.host_.seat()).visits) {
      // Before anything is looked up: sequentially consistent, as are those looks.
      visits_.store(seat + 1U);
    }
    ~Visit() { visits_.store(0, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    std::atomic<std::uint32_t>& visits_;
  };

  /// Until nobody is at our memory who has come before. Copying takes microseconds, or its
  /// process's life.
  void wait_for_visitors() const;
  /// Whether the process on SEAT is who we take it for, and lets us read and write.
  [[nodiscard]] bool may_visit(std::uint16_t seat);
  /// Whether the process on SEAT lives, or did so a moment ago: its number is not another's yet.
  [[nodiscard]] bool lives(std::uint16_t seat, std::uint64_t now_ns);
  /// Whose memory that is.
  [[nodiscard]] pid_t process_of(std::uint16_t seat) const {
    return static_cast<pid_t>(host_.seat_memory(seat).pid.load());
  }

 private:
  Host& host_;
  std::unordered_map<std::uint16_t, std::uint64_t> known_;     // seats, by the cookie that was seen
  std::unordered_map<std::uint16_t, std::uint64_t> lived_ns_;  // when that was last seen
};

}  // namespace softrdma::fabric
