#include "launcher/supervise.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace hawser::launcher {
namespace {

using Cause = Verdict::Cause;
using Ending = Supervisor::Ending;

constexpr std::uint64_t ms = 1'000'000;

// Statuses as wait(2) encodes them.
Ending exited(std::uint32_t rank, int code, bool unfinished = false) {
  return {rank, code << 8, unfinished};
}
Ending killed(std::uint32_t rank, int signal) { return {rank, signal, true}; }

Supervisor job_of(int ranks) {
  Supervisor supervisor;
  for (int i = 0; i < ranks; ++i) supervisor.rank_started();
  return supervisor;
}

Cause judge(std::vector<Ending> endings, const std::optional<Verdict>& abort = {}) {
  Supervisor supervisor = job_of(4);
  supervisor.ranks_ended(endings, abort, 0);
  EXPECT_TRUE(supervisor.verdict().has_value());
  return supervisor.verdict()->cause;
}

TEST(Supervisor, AJobThatEndsWellHasNoVerdict) {
  Supervisor supervisor = job_of(2);
  const std::vector<Ending> both{exited(0, 0), exited(1, 0)};
  EXPECT_EQ(supervisor.ranks_ended(both, {}, 0).signal, 0);
  EXPECT_EQ(supervisor.running(), 0U);
  EXPECT_FALSE(supervisor.verdict().has_value());
  EXPECT_FALSE(supervisor.next_deadline_ns().has_value());
}

TEST(Supervisor, TheFirstFailureTerminatesThenKills) {
  Supervisor supervisor = job_of(3);
  EXPECT_EQ(supervisor.ranks_ended(std::vector{exited(1, 3)}, {}, 100 * ms).signal, SIGTERM);
  EXPECT_EQ(supervisor.next_deadline_ns(), 600 * ms);
  EXPECT_EQ(supervisor.time_passed(599 * ms).signal, 0);
  EXPECT_EQ(supervisor.ranks_ended(std::vector{killed(0, SIGTERM)}, {}, 300 * ms).signal, 0);
  EXPECT_EQ(supervisor.time_passed(600 * ms).signal, SIGKILL);
  EXPECT_FALSE(supervisor.gave_up());
  supervisor.time_passed(5600 * ms);
  EXPECT_TRUE(supervisor.gave_up());
  EXPECT_EQ(supervisor.verdict()->rank, 1U);
  EXPECT_EQ(supervisor.verdict()->value, 3);
}

TEST(Supervisor, WhereTheOthersGoOnADeathIsAVerdictAlone) {
  const Verdict timeout{Cause::timed_out};
  Supervisor supervisor(1000 * ms, timeout, {}, Supervisor::OnDeath::go_on);
  for (int rank = 0; rank < 3; ++rank) supervisor.rank_started();
  EXPECT_EQ(supervisor.ranks_ended(std::vector{killed(1, SIGKILL)}, {}, 100 * ms).signal, 0);
  EXPECT_EQ(supervisor.verdict()->cause, Cause::died_of_signal);
  EXPECT_EQ(supervisor.next_deadline_ns(), 1000 * ms);
  EXPECT_EQ(supervisor.ranks_ended(std::vector{exited(0, 0)}, {}, 200 * ms).signal, 0);
  EXPECT_EQ(supervisor.verdict()->rank, 1U);
  const Verdict abort{Cause::aborted, 2, 7};
  EXPECT_EQ(supervisor.ranks_ended(std::vector{exited(2, 7)}, abort, 300 * ms).signal, SIGTERM);
  EXPECT_EQ(supervisor.verdict()->cause, Cause::aborted);
}

TEST(Supervisor, WhereTheOthersGoOnEachDeathIsToldOnce) {
  Supervisor supervisor(1000 * ms, Verdict{Cause::timed_out}, {}, Supervisor::OnDeath::go_on);
  for (int rank = 0; rank < 4; ++rank) supervisor.rank_started();
  supervisor.ranks_ended(std::vector{killed(1, SIGKILL), exited(0, 0), killed(2, SIGSEGV)}, {}, 1);
  const std::vector<Verdict> deaths = supervisor.take_passed_over();
  ASSERT_EQ(deaths.size(), 2U);
  EXPECT_EQ(deaths[0].rank, 1U);
  EXPECT_EQ(deaths[1].value, SIGSEGV);
  EXPECT_TRUE(supervisor.take_passed_over().empty());
  EXPECT_TRUE(supervisor.is_verdict_passed_over());
  supervisor.time_passed(1000 * ms);
  EXPECT_FALSE(supervisor.is_verdict_passed_over());
}

TEST(Supervisor, WhereTheOthersGoOnTimeStillEndsThem) {
  Supervisor supervisor(1000 * ms, Verdict{Cause::timed_out}, {}, Supervisor::OnDeath::go_on);
  for (int rank = 0; rank < 2; ++rank) supervisor.rank_started();
  supervisor.ranks_ended(std::vector{killed(1, SIGKILL)}, {}, 100 * ms);
  EXPECT_EQ(supervisor.time_passed(1000 * ms).signal, SIGTERM);
  EXPECT_EQ(supervisor.verdict()->cause, Cause::timed_out);
}

TEST(Supervisor, OfEndingsSeenTogetherTheCauseIsNamed) {
  const Verdict abort{Cause::aborted, 2, 7};
  EXPECT_EQ(judge({exited(0, 1), killed(1, SIGSEGV), exited(2, 7)}, abort), Cause::died_of_signal);
  EXPECT_EQ(judge({exited(0, 1), exited(2, 7)}, abort), Cause::aborted);
  EXPECT_EQ(judge({exited(0, 0, true), exited(1, 5)}), Cause::exited);
  EXPECT_EQ(judge({exited(0, 0, true), exited(1, 0)}), Cause::not_finalized);
  EXPECT_EQ(judge({}, abort), Cause::aborted);  // the script around that rank still runs
}

TEST(Supervisor, ASignalToMpirunIsForwardedAndExplainsTheDeath) {
  Supervisor supervisor = job_of(2);
  EXPECT_EQ(supervisor.signalled(SIGINT, 0).signal, SIGINT);
  EXPECT_FALSE(supervisor.is_impatient());
  supervisor.ranks_ended(std::vector{killed(0, SIGINT)}, {}, 1);
  EXPECT_EQ(supervisor.verdict()->cause, Cause::interrupted);
}

TEST(Supervisor, TheSecondInterruptKills) {
  Supervisor supervisor = job_of(2);
  supervisor.signalled(SIGINT, 0);
  EXPECT_EQ(supervisor.signalled(SIGINT, 1).signal, SIGKILL);
  EXPECT_TRUE(supervisor.is_impatient());
  EXPECT_EQ(supervisor.verdict()->cause, Cause::interrupted);
  EXPECT_EQ(supervisor.verdict()->value, SIGINT);
}

TEST(Supervisor, UserSignalsNeverKill) {
  Supervisor supervisor = job_of(2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(supervisor.signalled(SIGUSR1, 0).signal, SIGUSR1);
  EXPECT_EQ(supervisor.signalled(SIGCONT, 0).signal, SIGCONT);
  const Supervisor::Orders stop = supervisor.signalled(SIGTSTP, 0);
  EXPECT_EQ(stop.signal, SIGSTOP);
  EXPECT_TRUE(stop.stop_self);
  EXPECT_FALSE(supervisor.verdict().has_value());
}

TEST(Supervisor, ATimeoutEndsTheJobOnce) {
  Supervisor supervisor(50 * ms, Verdict{Cause::timed_out});
  supervisor.rank_started();
  EXPECT_EQ(supervisor.next_deadline_ns(), 50 * ms);
  EXPECT_EQ(supervisor.time_passed(49 * ms).signal, 0);
  EXPECT_EQ(supervisor.time_passed(50 * ms).signal, SIGTERM);
  EXPECT_EQ(supervisor.time_passed(51 * ms).signal, 0);
  EXPECT_EQ(supervisor.verdict()->cause, Cause::timed_out);
}

TEST(Supervisor, OrphansMayLingerThenGo) {
  Supervisor supervisor = job_of(1);
  supervisor.ranks_ended(std::vector{exited(0, 0)}, {}, 0);
  EXPECT_EQ(supervisor.orphans_left(0).signal, 0);
  EXPECT_EQ(supervisor.orphans_left(100 * ms).signal, 0);
  EXPECT_EQ(supervisor.next_deadline_ns(), 200 * ms);
  EXPECT_EQ(supervisor.time_passed(200 * ms).signal, SIGTERM);
  EXPECT_EQ(supervisor.time_passed(700 * ms).signal, SIGKILL);
  EXPECT_EQ(supervisor.orphans_left(701 * ms).signal, SIGKILL);  // children of those just killed
  EXPECT_FALSE(supervisor.verdict().has_value());
}

TEST(Supervisor, OrphansOfAFailedJobAreToldOnce) {
  Supervisor supervisor = job_of(1);
  supervisor.ranks_ended(std::vector{exited(0, 1)}, {}, 0);
  EXPECT_EQ(supervisor.orphans_left(1).signal, SIGTERM);
  EXPECT_EQ(supervisor.orphans_left(2).signal, 0);
}

}  // namespace
}  // namespace hawser::launcher
