#include "memory/registration/memory_events.hpp"

#include <gtest/gtest.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/sanitizers.hpp"
#include "memory/registration/code_of_libc.hpp"
#include "memory/registration/recording_registrar.hpp"
#include "platform/file.hpp"
#include "platform/shared_library.hpp"

namespace hawser::memory {
namespace {

constexpr int readable_and_writable = PROT_READ | PROT_WRITE;
constexpr int repetitions = 10'000;

void* map_bytes(std::size_t bytes, void* at = nullptr) {
  void* const memory = ::mmap(at, bytes, readable_and_writable,
                              MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return memory;
}

class MemoryEventsTest : public testing::Test {
 protected:
  void SetUp() override {
#if HAWSER_THREAD_SANITIZER
    // A thread discards its stack last of all, when the sanitizer knows no such thread any more.
    GTEST_SKIP() << "the thread sanitizer does not bear libucm's hooks";
#endif
    auto started = MemoryEvents::start(cache);
    if (!started.ok()) GTEST_SKIP() << started.error().sentence();
    events = std::move(*started);
  }

  RegistrationHandle handle_of(const void* memory, std::size_t size) {
    auto lease = cache.acquire(reinterpret_cast<std::uintptr_t>(memory), size);
    EXPECT_TRUE(lease.ok());
    return lease.ok() ? lease->handle() : 0;
  }
  /// Is what was registered there last still handed out?
  bool is_kept(const void* memory, std::size_t size) {
    const RegistrationHandle last = registrar.last_handle;
    return handle_of(memory, size) <= last;
  }

  const std::size_t page = platform::page_bytes();
  const std::size_t bytes = 4 * page;
  Ledger ledger;
  RecordingRegistrar registrar;
  RegistrationCache cache{
      registrar, ledger, {.pinned_bytes_max = std::size_t{1} << 32, .page_bytes = page}};
  std::unique_ptr<MemoryEvents> events;
};

constexpr int is_missing = 77;

/// 0 if start() leaves the code as prepare() has made it.
int change_after_preparing() {
  const CodeOfLibc own = code_of_libc();
  if (!MemoryEvents::prepare().ok())
    return platform::SharedLibrary::open("libucs.so.0").ok() ? 1 : is_missing;
  const CodeOfLibc prepared = code_of_libc();
  Ledger ledger;
  RecordingRegistrar registrar;
  RegistrationCache cache(registrar, ledger, {.pinned_bytes_max = 0, .page_bytes = 4096});
  const auto events = MemoryEvents::start(cache);
  return events.ok() && prepared != own && code_of_libc() == prepared ? 0 : 1;
}

// A thread may be about to run what start() would change.
TEST(MemoryEventsPrepared, NoCodeIsChangedLater) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process in which nothing is patched
  int change = -1;
  const auto note = [&](int status) {
    change = WEXITSTATUS(status);
    return WIFEXITED(status);
  };
  EXPECT_EXIT(::_exit(change_after_preparing()), note, "");
  if (change == is_missing) GTEST_SKIP() << "there is no libucm";
  EXPECT_EQ(change, 0);
}

TEST_F(MemoryEventsTest, UntouchedMemoryStaysRegistered) {
  void* const memory = map_bytes(bytes);
  handle_of(memory, bytes);
  ::mprotect(memory, page, PROT_READ);
  ::madvise(memory, page, MADV_WILLNEED);
  ::munmap(map_bytes(bytes), bytes);
  EXPECT_TRUE(is_kept(memory, bytes));
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, AnAddressThatIsMappedAgainIsRegisteredAnew) {
  void* const memory = map_bytes(bytes);
  int stale = 0;
  RegistrationHandle last = handle_of(memory, bytes);
  for (int i = 0; i < repetitions; ++i) {
    ::munmap(memory, bytes);
    map_bytes(bytes, memory);
    const RegistrationHandle now = handle_of(memory, bytes);
    stale += now == last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(stale, 0);
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, WhatIsMappedOverIsGone) {
  void* const memory = map_bytes(bytes);
  handle_of(memory, bytes);
  map_bytes(page, memory);
  EXPECT_FALSE(is_kept(memory, bytes));
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, DiscardedPagesAreOthers) {
  void* const memory = map_bytes(bytes);
  int stale = 0;
  handle_of(memory, bytes);
  for (int i = 0; i < repetitions; ++i) {
    ::madvise(static_cast<std::byte*>(memory) + page, page, MADV_DONTNEED);
    stale += is_kept(memory, bytes) ? 1 : 0;
  }
  EXPECT_EQ(stale, 0);
  constexpr int discards_locked_pages = 24;  // MADV_DONTNEED_LOCKED
  for (const int advice : {MADV_FREE, MADV_REMOVE, discards_locked_pages}) {
    ::madvise(memory, page, advice);
    EXPECT_FALSE(is_kept(memory, bytes)) << "advice " << advice;
  }
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, MovedMemoryIsGone) {
  int stale = 0;
  // With room behind it that is nobody else's.
  void* const memory = map_bytes(2 * bytes);
  ::munmap(static_cast<std::byte*>(memory) + bytes, bytes);
  for (int i = 0; i < repetitions; ++i) {
    handle_of(memory, bytes);
    // It is moved, as what lies behind it is taken.
    void* const behind = map_bytes(page, static_cast<std::byte*>(memory) + bytes);
    void* const moved = ::mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
    map_bytes(bytes, memory);
    stale += is_kept(memory, bytes) ? 1 : 0;
    ::munmap(moved, 2 * bytes);
    ::munmap(behind, page);
  }
  EXPECT_EQ(stale, 0);
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, TheHeapThatShrinks) {
  int stale = 0;
  const auto step = static_cast<std::intptr_t>(bytes);
  for (int i = 0; i < repetitions; ++i) {
    void* const top = ::sbrk(step);
    ASSERT_EQ(::sbrk(0), static_cast<std::byte*>(top) + step);
    handle_of(top, bytes);
    ::sbrk(-step);
    ::sbrk(step);
    stale += is_kept(top, bytes) ? 1 : 0;
    ::brk(top);
    ::sbrk(step);
    stale += is_kept(top, bytes) ? 1 : 0;
    ::sbrk(-step);
  }
  EXPECT_EQ(stale, 0);
}

TEST_F(MemoryEventsTest, DetachedSegmentsAreGone) {
  const int segment = ::shmget(IPC_PRIVATE, bytes, IPC_CREAT | S_IRUSR | S_IWUSR);
  ASSERT_GE(segment, 0);
  void* const memory = ::shmat(segment, nullptr, 0);
  handle_of(memory, bytes);
  ::shmdt(memory);
  ASSERT_EQ(::shmat(segment, memory, 0), memory);
  EXPECT_FALSE(is_kept(memory, bytes));
  ::shmdt(memory);
  ::shmctl(segment, IPC_RMID, nullptr);
}

TEST_F(MemoryEventsTest, WhatOtherThreadsTakeAway) {
  constexpr int threads_count = 4;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&] {
      while (!is_over) ::munmap(map_bytes(page), page);
    });
  }
  void* const memory = map_bytes(bytes);
  int stale = 0;
  for (int i = 0; i < 1000; ++i) {
    handle_of(memory, bytes);
    std::thread([&] { ::madvise(memory, bytes, MADV_DONTNEED); }).join();
    stale += is_kept(memory, bytes) ? 1 : 0;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stale, 0);
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, TwoListenersDoNotHinderEachOther) {
  RegistrationCache other(registrar, ledger, {.pinned_bytes_max = bytes, .page_bytes = page});
  auto others = MemoryEvents::start(other);
  ASSERT_TRUE(others.ok());
  void* const memory = map_bytes(bytes);
  handle_of(memory, bytes);
  (void)other.acquire(reinterpret_cast<std::uintptr_t>(memory), bytes);
  ::madvise(memory, bytes, MADV_DONTNEED);
  EXPECT_FALSE(is_kept(memory, bytes));
  other.apply_invalidations();
  EXPECT_EQ(other.counters().invalidations, 1U);
  others->reset();
  ::madvise(memory, bytes, MADV_DONTNEED);
  EXPECT_FALSE(is_kept(memory, bytes));
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, NothingIsHeardAfterTheEnd) {
  void* const memory = map_bytes(bytes);
  handle_of(memory, bytes);
  events.reset();
  ::madvise(memory, bytes, MADV_DONTNEED);
  EXPECT_TRUE(is_kept(memory, bytes));
  ::munmap(memory, bytes);
}

TEST_F(MemoryEventsTest, AChildOfForkUsesItsMemoryAsItLikes) {
  void* const memory = map_bytes(bytes);
  handle_of(memory, bytes);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr unsigned limit_s = 10;
    ::alarm(limit_s);
    for (std::uint32_t i = 0; i < 2 * noted_ranges_max; ++i) ::munmap(map_bytes(page), page);
    ::_exit(::munmap(memory, bytes));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_kept(memory, bytes));
  ::munmap(memory, bytes);
}

// UCX would catch crashes and stay when its terminal closes.
TEST_F(MemoryEventsTest, TheProgramsSignalHandlersAreItsOwn) {
  struct sigaction hang_up {};
  ASSERT_EQ(::sigaction(SIGHUP, nullptr, &hang_up), 0);
  EXPECT_TRUE(hang_up.sa_handler == SIG_DFL || hang_up.sa_handler == SIG_IGN);
}

}  // namespace
}  // namespace hawser::memory
