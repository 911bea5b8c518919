// Waiter: how a process waits when progress finds nothing (DESIGN §6). Real processes spin or let
// others run for a while, then sleep on their wake word; in a simulation a waiter switches to the
// next fiber.
//
// Protocol:  prepare(); look once more for work; then sleep(), or cancel() if there was some.
//            A wake-up after prepare() makes the following sleep() return at once.
// Threads:   prepare/sleep/cancel may be called by several threads of a process at a time; wake()
//            by any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"
#include "p2p/spin_record.hpp"

namespace hawser::p2p {

using base::never_ns;

/// How long a process stays awake while nothing moves; the same for all ranks of a host.
struct WaitPolicy {
  /// Ranks on this host outnumber its cores: a waiting rank stands in another's way.
  bool oversubscribed = false;
  std::uint64_t spin_ns = 0;        // of polling, where cores are free
  bool shares_cores = false;        // with progress threads, which may want them meanwhile
  std::uint64_t brief_spin_ns = 0;  // of polling, where they are not, if it pays (SpinRecord); then
  std::uint32_t yields = 0;         // rounds in which others may run first,
  std::uint64_t yield_ns = 0;   // and this long at least: without others a round is over at once
  bool sleeps_at_once = false;  // none of these: who waits sleeps
  /// Where ranks outnumber cores: looks at what nobody else on this core can bring about, before
  /// others have a turn on it all the same.
  std::uint32_t looks_alone = 0;
};

/// What ends a sleep, besides wake() and its deadline.
enum class WakeBy : std::uint8_t {
  anything,
  arrivals,    // what has come,
  departures,  // or what has left, where the two can be told apart
};

class Waiter {
 public:
  explicit Waiter(const WaitPolicy& policy) : policy_(policy) {}
  virtual ~Waiter() = default;
  [[nodiscard]] const WaitPolicy& policy() const { return policy_; }

  [[nodiscard]] virtual std::uint64_t now_ns() const = 0;
  /// Between two rounds of progress: a pause of the processor, or others' turn on it.
  virtual void relax() = 0;
  /// Others' turn on the processor, whatever the policy says.
  virtual void give_way() { relax(); }
  /// Until it is called again: others have BYTES to move in a turn, each.
  virtual void expect_turns(std::size_t /*bytes*/) {}
  /// The ticket that sleep() wants: several threads of a process may wait at a time.
  virtual std::uint32_t prepare() = 0;
  /// At most until now_ns() is DEADLINE_NS (never_ns: no limit); perhaps less.
  virtual void sleep(std::uint32_t ticket, std::uint64_t deadline_ns, WakeBy by) = 0;
  /// Whether WakeBy::arrivals and WakeBy::departures differ.
  [[nodiscard]] virtual bool tells_departures() const { return false; }
  virtual void cancel() = 0;
  /// Wakes every thread of this process that sleeps here.
  virtual void wake() = 0;

 private:
  const WaitPolicy policy_;
};

/// One wait's decisions between rounds of progress that found nothing.
class Patience {
 public:
  Patience(Waiter& waiter, SpinRecord& spins) : waiter_(waiter), spins_(spins) {}
  /// Spins have gained if the wait is over without a turn of others. If those had one all the same,
  /// what came during spins would have been there after it.
  ~Patience() {
    if (goes_on_by_spins()) spins_.note_gain();
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// Something moved: the time that this wait stays awake begins anew.
  void renew() {
    if (spin_ == Spin::on) has_spun_well_ = true;
    spin_ = Spin::undecided;
    rounds_ = 0;
    beside_attendant_ = 0;
    idle_since_ns_ = 0;
  }
  /// A progress thread drives just now, and may be at it for long (an adapter made of processes
  /// copies as it is told to send). True, after a pause: look whether it has done what is waited
  /// for. False: wait until it has finished.
  bool lasts_beside_attendant() {
    if (waiter_.policy().sleeps_at_once || waiter_.policy().oversubscribed) return false;
    if (++beside_attendant_ > rounds_beside_attendant_max) return false;
    // It may be waiting for this very core.
    if (beside_attendant_ % rounds_per_clock_look == 0) {
      waiter_.give_way();
    } else {
      waiter_.relax();
    }
    return true;
  }
  /// True, after a pause: try another round. False: it is time to sleep.
  bool lasts() {
    const WaitPolicy& policy = waiter_.policy();
    if (policy.sleeps_at_once) return false;
    ++rounds_;
    if (policy.oversubscribed) {
      if (spin_ != Spin::over && spins_on()) return true;
      others_had_a_turn_ = true;  // now, or while this one sleeps
      if (rounds_ > policy.yields && idle_time_ns() >= policy.yield_ns) return false;
      waiter_.relax();
      return true;
    }
    // A pause of the processor costs as much as a whole round, or more. Who has looked in vain for
    // a while gains by it: with rounds in a row the processor has begun many by guess when at last
    // something comes, and has to take all of them back. The clock costs as much again.
    if (rounds_ >= rounds_without_pause) waiter_.relax();
    if (!policy.shares_cores && rounds_ % rounds_per_clock_look != 0) return true;
    const std::uint64_t idle_ns = idle_time_ns();
    if (policy.shares_cores && idle_ns >= gives_way_after_ns) waiter_.give_way();
    return idle_ns < policy.spin_ns;
  }

 private:
  enum class Spin : std::uint8_t { undecided, on, over };

  static constexpr std::uint32_t rounds_without_pause = 8;
  static constexpr std::uint32_t rounds_per_clock_look = 32;
  static constexpr std::uint32_t rounds_beside_attendant_max = 1 << 15;  // 1 ms or so
  static constexpr std::uint64_t gives_way_after_ns = 500;

  [[nodiscard]] bool goes_on_by_spins() const { return has_spun_well_ && !others_had_a_turn_; }
  /// Where others want this core: true for as long as they shall wait.
  bool spins_on() {
    constexpr std::uint32_t rounds_per_look = 4;
    const std::uint64_t spin_ns = waiter_.policy().brief_spin_ns;
    if (spin_ == Spin::undecided && spin_ns > 0 && (goes_on_by_spins() || spins_.is_worth_while()))
      spin_ = Spin::on;
    if (spin_ == Spin::on) {
      if (rounds_ % rounds_per_look != 0 || idle_time_ns() < spin_ns) return true;
      spins_.note_loss();
    }
    spin_ = Spin::over;
    rounds_ = 1;
    return false;
  }
  /// Since it was looked for first.
  std::uint64_t idle_time_ns() {
    const std::uint64_t now_ns = waiter_.now_ns();
    if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
    return now_ns - idle_since_ns_;
  }

  Waiter& waiter_;
  SpinRecord& spins_;
  Spin spin_ = Spin::undecided;
  bool has_spun_well_ = false;  // something came meanwhile
  bool others_had_a_turn_ = false;
  std::uint32_t rounds_ = 0;            // in a row that found nothing
  std::uint32_t beside_attendant_ = 0;  // those that another thread had instead
  std::uint64_t idle_since_ns_ = 0;
};

}  // namespace hawser::p2p
