// Attendance: who drives an engine that has progress threads: the program's threads while one of
// them waits inside, the progress threads (p2p/progress) otherwise.
//
// A progress thread that finds the program inside steps aside: it no longer asks to be woken, so
// that those who send pay nothing for it, and looks now and then whether the program has gone.
// Where the program leaves something behind that is to go on without it, it says so, and the thread
// is back at once.
//
// Ownership: a member of the Engine.
// Threads:   set_attended: while no other thread uses the engine, or by the one that starts and
//            ends the progress threads. Everything else by any thread.
// Bounds:    what the program did not announce waits for a progress thread for as long as that
//            lingers, and then as long as the program's last visit took, or aside_ns_max.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "platform/clock.hpp"
#include "platform/futex.hpp"

namespace hawser::p2p {

class Attendance {
 public:
  /// There are progress threads. Without them all else does nothing.
  void set_attended(bool attended) { attended_.store(attended, std::memory_order_relaxed); }
  [[nodiscard]] bool is_attended() const { return attended_.load(std::memory_order_relaxed); }

  /// A thread of the program waits inside, or is in a call that will, for a scope.
  class Visit {
   public:
    explicit Visit(Attendance& attendance)
        : attendance_(attendance.is_attended() ? &attendance : nullptr) {
      if (attendance_ != nullptr) attendance_->inside_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Visit() {
      if (attendance_ == nullptr) return;
      attendance_->visits_.fetch_add(1, std::memory_order_relaxed);
      attendance_->inside_.fetch_sub(1, std::memory_order_relaxed);
      if (slept_) attendance_->hand_over();
    }
    /// It was a long one: what it cost anyway, calling progress threads back costs as well.
    void note_sleep() { slept_ = true; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Attendance* const attendance_;
    bool slept_ = false;
  };

  /// The program's: something is under way that is to go on without it. True if a progress thread
  /// had stepped aside; it is back. Nothing to do where a thread of the program is inside.
  bool hand_over() {
    if (aside_.load(std::memory_order_relaxed) == 0 || is_program_inside()) return false;
    call_back();
    return true;
  }
  /// Where the program was when it last left something behind, and may go on computing; negative
  /// before. A progress thread that is woken there waits for its turn, or takes the program's.
  void note_program_core(int core) { program_core_.store(core, std::memory_order_relaxed); }
  [[nodiscard]] int program_core() const { return program_core_.load(std::memory_order_relaxed); }
  /// Whatever the program does.
  void call_back() {
    calls_.fetch_add(1, std::memory_order_release);
    platform::futex_wake_all(calls_);
  }

  [[nodiscard]] bool is_anybody_asleep() const {
    return asleep_.load(std::memory_order_relaxed) > 0;
  }

  // Of progress threads:

  /// One of them asks to be woken and sleeps, for a scope.
  class Sleep {
   public:
    explicit Sleep(Attendance& attendance) : attendance_(attendance) {
      attendance_.asleep_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Sleep() { attendance_.asleep_.fetch_sub(1, std::memory_order_relaxed); }
    Sleep(const Sleep&) = delete;
    Sleep& operator=(const Sleep&) = delete;

   private:
    Attendance& attendance_;
  };

  [[nodiscard]] bool is_program_inside() const {
    return inside_.load(std::memory_order_relaxed) > 0;
  }
  /// Until the program is not inside and has not been for a while, or hands over. For LINGERS_NS it
  /// lets others run, whoever wants to, and sleeps from then on.
  void step_aside(std::uint64_t lingers_ns) {
    const std::uint32_t calls = calls_.load(std::memory_order_acquire);
    aside_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t sleeps_at_ns = platform::monotonic_ns() + lingers_ns;
    while (calls_.load(std::memory_order_acquire) == calls &&
           platform::monotonic_ns() < sleeps_at_ns)
      platform::yield_cpu();
    std::uint64_t pause_ns = aside_ns_min;
    bool is_here = true;
    while (is_here && calls_.load(std::memory_order_acquire) == calls) {
      const std::uint32_t visits = visits_.load(std::memory_order_relaxed);
      platform::futex_wait(calls_, calls, pause_ns);
      const bool comes_and_goes = visits_.load(std::memory_order_relaxed) != visits;
      pause_ns = std::min(2 * pause_ns, comes_and_goes ? aside_ns_max : long_visit_ns_max);
      is_here = comes_and_goes || is_program_inside();
    }
    aside_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t aside_ns_min = 50'000;
  static constexpr std::uint64_t aside_ns_max = 200'000;
  static constexpr std::uint64_t long_visit_ns_max = 10'000'000;  // at its end we are called

  std::atomic<bool> attended_{false};
  std::atomic<std::uint32_t> inside_{0};  // threads of the program
  std::atomic<std::uint32_t> visits_{0};  // that have ended, wrapping
  std::atomic<std::uint32_t> aside_{0};   // progress threads
  std::atomic<std::uint32_t> asleep_{0};  // progress threads, until something comes
  std::atomic<int> program_core_{-1};
  std::atomic<std::uint32_t> calls_{0};  // to come back, wrapping
};

}  // namespace hawser::p2p
