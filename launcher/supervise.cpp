#include "launcher/supervise.hpp"

#include <sys/wait.h>

#include <csignal>
#include <utility>

namespace hawser::launcher {

namespace {

/// The verdict that ENDING alone would justify.
std::optional<Verdict> verdict_of(const Supervisor::Ending& ending, int forwarded_signal) {
  using Cause = Verdict::Cause;
  if (WIFSIGNALED(ending.wait_status)) {
    const int signal = WTERMSIG(ending.wait_status);
    return Verdict{signal == forwarded_signal ? Cause::interrupted : Cause::died_of_signal,
                   ending.rank, signal};
  }
  const int code = WEXITSTATUS(ending.wait_status);
  if (code != 0) return Verdict{Cause::exited, ending.rank, code};
  if (ending.between_init_and_finalize) return Verdict{Cause::not_finalized, ending.rank};
  return std::nullopt;
}

}  // namespace

/// Of endings that were seen together, a death by signal is the cause of the others: a peer notices
/// it and aborts. An abort in turn explains exit codes, its own process's first.
std::optional<Verdict> Supervisor::judge(std::span<const Ending> endings,
                                         const std::optional<Verdict>& abort) const {
  std::optional<Verdict> first;
  for (const Ending& ending : endings) {
    std::optional<Verdict> verdict = verdict_of(ending, forwarded_signal_);
    if (!verdict) continue;
    if (WIFSIGNALED(ending.wait_status)) return verdict;
    const bool was_silent = first && first->cause == Verdict::Cause::not_finalized;
    if (!first || (was_silent && verdict->cause == Verdict::Cause::exited)) first = verdict;
  }
  return abort ? abort : first;
}

Supervisor::Orders Supervisor::ranks_ended(std::span<const Ending> endings,
                                           const std::optional<Verdict>& abort,
                                           std::uint64_t now_ns) {
  running_ -= static_cast<std::uint32_t>(endings.size());
  if (verdict_) return {};
  std::optional<Verdict> verdict = judge(endings, abort);
  if (!verdict) return {};
  if (on_death_ == OnDeath::go_on && !abort) {
    if (!passed_over_) passed_over_ = std::move(verdict);
    for (const Ending& ending : endings)
      if (std::optional<Verdict> death = verdict_of(ending, forwarded_signal_))
        untold_.push_back(*std::move(death));
    return {};
  }
  return failed(*std::move(verdict), now_ns);
}

Supervisor::Orders Supervisor::orphans_left(std::uint64_t now_ns) {
  switch (phase_) {
    case Phase::running:
      return enter(Phase::lingering, now_ns);
    case Phase::terminating:
      // Once: ranks were told by their groups, which orphans may have left.
      return {std::exchange(orphans_told_, true) ? 0 : SIGTERM};
    case Phase::killing:
      return {SIGKILL};
    case Phase::lingering:
    case Phase::given_up:
      return {};
  }
  return {};
}

Supervisor::Orders Supervisor::signalled(int signal, std::uint64_t now_ns) {
  switch (signal) {
    case SIGTSTP:
      // The ranks' groups are orphaned, as the kernel sees it, and it discards their SIGTSTP.
      return {SIGSTOP, true};
    case SIGINT:
    case SIGTERM:
      if (forwarded_signal_ == SIGINT || forwarded_signal_ == SIGTERM) {
        if (!verdict_) verdict_ = Verdict{Verdict::Cause::interrupted, 0, signal};
        impatient_ = true;
        return enter(Phase::killing, now_ns);
      }
      forwarded_signal_ = signal;
      return {signal};
    case SIGHUP:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
      forwarded_signal_ = signal;
      return {signal};
    default:
      return {signal};
  }
}

bool Supervisor::ends_all() const {
  const bool was_asked = forwarded_signal_ == SIGINT || forwarded_signal_ == SIGTERM ||
                         forwarded_signal_ == SIGHUP || forwarded_signal_ == SIGQUIT;
  return verdict_.has_value() || was_asked;
}

Supervisor::Orders Supervisor::failed(Verdict verdict, std::uint64_t now_ns) {
  if (verdict_) return {};
  verdict_ = std::move(verdict);
  // Whatever lingers or is being ended already goes on to be ended.
  if (phase_ == Phase::terminating || phase_ == Phase::killing) return {};
  return enter(Phase::terminating, now_ns);
}

Supervisor::Orders Supervisor::time_passed(std::uint64_t now_ns) {
  const bool phase_over = phase_ != Phase::running && now_ns >= phase_deadline_ns_;
  switch (phase_) {
    case Phase::running:
      if (job_deadline_ns_ && now_ns >= *job_deadline_ns_) return failed(timeout_, now_ns);
      return {};
    case Phase::lingering:
      return phase_over ? enter(Phase::terminating, now_ns) : Orders{};
    case Phase::terminating:
      return phase_over ? enter(Phase::killing, now_ns) : Orders{};
    case Phase::killing:
      return phase_over ? enter(Phase::given_up, now_ns) : Orders{};
    case Phase::given_up:
      return {};
  }
  return {};
}

std::optional<std::uint64_t> Supervisor::next_deadline_ns() const {
  if (phase_ == Phase::running) return job_deadline_ns_;
  if (phase_ == Phase::given_up) return std::nullopt;
  return phase_deadline_ns_;
}

Supervisor::Orders Supervisor::enter(Phase phase, std::uint64_t now_ns) {
  phase_ = phase;
  switch (phase) {
    case Phase::lingering:
      phase_deadline_ns_ = now_ns + limits_.linger_ns;
      return {};
    case Phase::terminating:
      phase_deadline_ns_ = now_ns + limits_.terminate_ns;
      return {SIGTERM};
    case Phase::killing:
      phase_deadline_ns_ = now_ns + limits_.kill_ns;
      return {SIGKILL};
    case Phase::running:
    case Phase::given_up:
      return {};
  }
  return {};
}

}  // namespace hawser::launcher
