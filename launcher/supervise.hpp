// Supervisor: decides when a job has failed and how it is brought to its end. A pure state machine:
// events and `now` go in, orders come out.
//
//   running ──all ranks ended, orphans left──► lingering ─┐200 ms
//      │                                                  ▼
//      └──first failure, timeout──────────────► terminating (SIGTERM) ──500 ms──► killing (SIGKILL)
//                                                                                   │ 5 s
//                                                                                   ▼ give up
// Ownership: none. Threads: one.
// Invariant: the first verdict stays.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "launcher/verdict.hpp"

namespace hawser::launcher {

class Supervisor {
 public:
  struct Limits {
    std::uint64_t linger_ns = 200'000'000;
    std::uint64_t terminate_ns = 500'000'000;
    std::uint64_t kill_ns = 5'000'000'000;
  };
  /// How one rank's process ended.
  struct Ending {
    std::uint32_t rank;
    int wait_status;
    bool between_init_and_finalize;
  };
  /// What the caller has to do now: a signal for everything that still runs, and stopping itself
  /// after that.
  struct Orders {
    int signal = 0;
    bool stop_self = false;
  };

  /// What the failure of a rank means for the others, unless it is an abort.
  enum class OnDeath : std::uint8_t { end, go_on };

  explicit Supervisor(std::optional<std::uint64_t> deadline_ns = {}, Verdict timeout = no_timeout())
      : job_deadline_ns_(deadline_ns), timeout_(std::move(timeout)) {}
  Supervisor(std::optional<std::uint64_t> deadline_ns, Verdict timeout, const Limits& limits,
             OnDeath on_death = OnDeath::end)
      : limits_(limits),
        job_deadline_ns_(deadline_ns),
        timeout_(std::move(timeout)),
        on_death_(on_death) {}

  void rank_started() { ++running_; }
  /// ENDINGS are those that were seen at one time: they have no order among themselves.
  Orders ranks_ended(std::span<const Ending> endings, const std::optional<Verdict>& abort,
                     std::uint64_t now_ns);
  /// All ranks have ended, and processes that they started have not.
  Orders orphans_left(std::uint64_t now_ns);
  /// SIGNAL was sent to mpirun.
  Orders signalled(int signal, std::uint64_t now_ns);
  /// Something else ends the job.
  Orders failed(Verdict verdict, std::uint64_t now_ns);
  Orders time_passed(std::uint64_t now_ns);

  /// When time_passed() wants to be called.
  [[nodiscard]] std::optional<std::uint64_t> next_deadline_ns() const;
  [[nodiscard]] std::uint32_t running() const { return running_; }
  [[nodiscard]] const std::optional<Verdict>& verdict() const {
    return verdict_ ? verdict_ : passed_over_;
  }
  /// Whatever stems from the job shall end, also jobs that its ranks have started.
  [[nodiscard]] bool ends_all() const;
  /// Deaths since the last call that ended nobody else.
  [[nodiscard]] std::vector<Verdict> take_passed_over() { return std::exchange(untold_, {}); }
  /// The verdict is one of those: it has been told.
  [[nodiscard]] bool is_verdict_passed_over() const { return !verdict_; }
  /// The user does not want to wait, not even for output to be written.
  [[nodiscard]] bool is_impatient() const { return impatient_; }
  /// Processes survive SIGKILL (the kernel holds them): leave without them.
  [[nodiscard]] bool gave_up() const { return phase_ == Phase::given_up; }

 private:
  enum class Phase : std::uint8_t { running, lingering, terminating, killing, given_up };

  static Verdict no_timeout() { return {Verdict::Cause::timed_out}; }
  [[nodiscard]] std::optional<Verdict> judge(std::span<const Ending> endings,
                                             const std::optional<Verdict>& abort) const;
  Orders enter(Phase phase, std::uint64_t now_ns);

  const Limits limits_{};
  const std::optional<std::uint64_t> job_deadline_ns_;
  const Verdict timeout_;
  const OnDeath on_death_ = OnDeath::end;
  std::uint32_t running_ = 0;
  Phase phase_ = Phase::running;
  std::uint64_t phase_deadline_ns_ = 0;
  int forwarded_signal_ = 0;  // the last one that asked the job to end
  bool impatient_ = false;
  bool orphans_told_ = false;
  std::optional<Verdict> verdict_;
  std::optional<Verdict> passed_over_;  // the first death that ended nobody else
  std::vector<Verdict> untold_;         // all such deaths since they were asked for
};

}  // namespace hawser::launcher
