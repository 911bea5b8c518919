#include "platform/process.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "platform/clock.hpp"
#include "platform/futex.hpp"
#include "platform/this_process.hpp"

namespace hawser::platform {
namespace {

MemoryPiece piece(const void* data, std::size_t bytes) {
  return {reinterpret_cast<std::uint64_t>(data), bytes};
}

/// What read_memory() gave says that this host lets nobody read.
bool is_refused(std::int64_t copied) { return copied == -EPERM || copied == -ENOSYS; }

TEST(StartTime, NamesALivingProcessOnly) {
  const std::uint64_t mine = start_time(::getpid());
  EXPECT_NE(mine, 0U);
  EXPECT_EQ(start_time(::getpid()), mine);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_GE(start_time(child), mine);
  ::kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(start_time(child), 0U) << "a zombie has ended";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(start_time(child), 0U);
}

TEST(StartTime, IsNotMisledByAName) {
  const std::uint64_t before = start_time(::getpid());
  char name[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  for (const char* nasty : {"a) Z 1 2 3", ") R (", "a b", ""}) {
    ASSERT_EQ(::prctl(PR_SET_NAME, nasty), 0);
    EXPECT_EQ(start_time(::getpid()), before) << nasty;
  }
  ::prctl(PR_SET_NAME, name);
}

TEST(WriteMemory, FillsPiecesInOrder) {
  const std::string_view from = "abcdef";
  std::array<char, 8> to{};
  const std::vector<MemoryPiece> local = {piece(from.data(), 4), piece(from.data() + 4, 2)};
  const std::vector<MemoryPiece> remote = {piece(to.data() + 5, 3), piece(to.data(), 3)};
  const std::int64_t copied = write_memory(::getpid(), local, remote);
  if (is_refused(copied)) GTEST_SKIP() << "this host lets nobody write";
  EXPECT_EQ(copied, 6);
  EXPECT_EQ(std::string_view(to.data(), to.size()), std::string_view("def\0\0abc", 8));
}

TEST(ReadMemory, CopiesPiecesInOrder) {
  std::vector<int> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  std::vector<int> to(1000);
  const std::vector<MemoryPiece> remote = {piece(from.data() + 500, 2000),
                                           piece(from.data(), 2000)};
  const std::vector<MemoryPiece> local = {piece(to.data(), 4), piece(to.data() + 1, 3996)};
  const std::int64_t copied = read_memory(::getpid(), local, remote);
  if (is_refused(copied)) GTEST_SKIP() << "not allowed here";
  ASSERT_EQ(copied, 4000);
  for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], static_cast<int>((i + 500) % 1000));
}

TEST(ReadMemory, SaysWhyItCannot) {
  int to = 0;
  const MemoryPiece local = piece(&to, sizeof(to));
  const MemoryPiece nowhere{8, sizeof(to)};
  EXPECT_LT(read_memory(::getpid(), {&local, 1}, {&nowhere, 1}), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(read_memory(child, {&local, 1}, {&local, 1}), -ESRCH);
}

TEST(ReadMemory, FindsAWordOrNot) {
  const std::uint64_t word = 0x1234;
  const auto address = reinterpret_cast<std::uint64_t>(&word);
  const MemoryPiece here{address, sizeof(word)};
  std::uint64_t copy = 0;
  const MemoryPiece there = piece(&copy, sizeof(copy));
  const std::int64_t copied = read_memory(::getpid(), {&there, 1}, {&here, 1});
  // Where reading is refused, no word is found.
  EXPECT_EQ(holds_word(::getpid(), address, 0x1234), !is_refused(copied));
  EXPECT_FALSE(holds_word(::getpid(), address, 0x1235));
  EXPECT_FALSE(holds_word(::getpid(), 8, 0x1234));
}

TEST(ReadMemory, CopiesTheBeginningOfTooManyPieces) {
  constexpr std::size_t pieces = 5000;
  std::vector<int> from(pieces, 1);
  for (const bool many_local : {false, true}) {
    std::vector<int> to(pieces, 0);
    std::vector<MemoryPiece> local = {piece(to.data(), pieces * sizeof(int))};
    std::vector<MemoryPiece> remote = {piece(from.data(), pieces * sizeof(int))};
    std::vector<MemoryPiece>& many = many_local ? local : remote;
    const int* const base = many_local ? to.data() : from.data();
    many.clear();
    for (std::size_t i = 0; i < pieces; ++i) many.push_back(piece(base + i, sizeof(int)));
    const std::int64_t copied = read_memory(::getpid(), local, remote);
    if (is_refused(copied)) GTEST_SKIP() << "not allowed here";
    ASSERT_EQ(copied, static_cast<std::int64_t>(64 * sizeof(int)));
    EXPECT_EQ(to[63], 1);
    EXPECT_EQ(to[64], 0);
  }
}

TEST(Cores, AreThoseThatWeMayUse) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(usable_cores(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(ThisProcess, HasItsNumberAndItsHost) {
  EXPECT_EQ(process_id(), ::getpid());
  EXPECT_FALSE(host_name().empty());
}

TEST(ThisProcess, EndsAtOnce) { EXPECT_EXIT(end_process(7), ::testing::ExitedWithCode(7), ""); }

TEST(Clock, NeverGoesBack) {
  std::uint64_t before = monotonic_ns();
  EXPECT_GT(before, 0U);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = monotonic_ns();
    ASSERT_GE(now, before);
    before = now;
    cpu_relax();
  }
}

TEST(Futex, DoesNotSleepOnAnotherValue) {
  std::atomic<std::uint32_t> word{1};
  futex_wait(word, 2);
}

TEST(Futex, TheLimitEndsASleep) {
  std::atomic<std::uint32_t> word{1};
  constexpr std::uint64_t limit_ns = 20'000'000;
  const std::uint64_t start = monotonic_ns();
  futex_wait(word, 1, limit_ns);
  EXPECT_GE(monotonic_ns() - start, limit_ns);
}

TEST(Cores, AreAsManyAsTheSetNames) {
  EXPECT_EQ(usable_core_set().count(), static_cast<std::size_t>(usable_cores()));
}

}  // namespace
}  // namespace hawser::platform
