#include "platform/memory_watch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace hawser::platform {
namespace {

constexpr int readable_and_writable = PROT_READ | PROT_WRITE;

std::byte* map_pages(std::size_t pages, void* at = nullptr) {
  void* const memory = ::mmap(at, pages * page_bytes(), readable_and_writable,
                              MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, pages * page_bytes());
  return static_cast<std::byte*>(memory);
}

class Watched : public testing::Test, private MemoryListener {
 protected:
  void SetUp() override {
    auto started = MemoryWatch::start();
    if (!started.ok()) GTEST_SKIP() << started.error().sentence();
    watch = std::move(started.value());
    watch->listen(*this);
    // Stays mapped: where a test makes a hole, others may have memory then.
    memory = map_pages(pages);
    ASSERT_TRUE(watch->watch({memory, pages * page_bytes()}).ok());
    position = watch->position();
  }
  // Its thread calls us.
  void TearDown() override { watch.reset(); }
  void on_memory_change() override { ++told; }
  void stop_listening() { watch->ignore(*this); }
  std::byte* page(std::size_t number) { return memory + number * page_bytes(); }
  std::vector<ChangedMemory> take() {
    std::vector<ChangedMemory> all;
    ChangedMemory next{};
    while (watch->take(&position, {&next, 1}) > 0) all.push_back(next);
    return all;
  }
  /// What became of PAGE, if anything.
  std::optional<MemoryChange> change_of(std::size_t number,
                                        const std::vector<ChangedMemory>& changes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(page(number));
    const auto found = std::ranges::find_if(changes, [&](const ChangedMemory& changed) {
      return changed.begin <= begin && begin < changed.end;
    });
    if (found == changes.end()) return std::nullopt;
    return found->change;
  }

  static constexpr std::size_t pages = 8;
  std::atomic<int> told = 0;
  std::unique_ptr<MemoryWatch> watch;
  std::byte* memory = nullptr;
  std::uint64_t position = 0;
};

TEST_F(Watched, UntouchedMemoryHasNotChanged) {
  std::memset(memory, 2, pages * page_bytes());
  ::mprotect(page(1), page_bytes(), PROT_READ);
  ::mprotect(page(1), page_bytes(), readable_and_writable);
  ::munmap(map_pages(4), 4 * page_bytes());
  EXPECT_TRUE(take().empty());
}

TEST_F(Watched, WhatWasUnmappedIsKnownAtOnceAndItsNeighboursAreNot) {
  ::munmap(page(3), page_bytes());
  const auto changes = take();
  EXPECT_EQ(change_of(2, changes), std::nullopt);
  EXPECT_EQ(change_of(3, changes), MemoryChange::unmapped);
  EXPECT_EQ(change_of(4, changes), std::nullopt);
}

TEST_F(Watched, WhatWasMappedOverIsUnmapped) {
  map_pages(2, page(1));
  EXPECT_EQ(change_of(2, take()), MemoryChange::unmapped);
  // The new pages are others.
  ::madvise(page(1), page_bytes(), MADV_DONTNEED);
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(watch->watch({page(1), page_bytes()}).ok());
  ::madvise(page(1), page_bytes(), MADV_DONTNEED);
  EXPECT_EQ(change_of(1, take()), MemoryChange::discarded);
}

TEST_F(Watched, WhatWasMovedAway) {
  // It can't grow in place.
  void* const moved = ::mremap(page(2), page_bytes(), 2 * page_bytes(), MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_EQ(change_of(2, take()), MemoryChange::moved);
  ::munmap(moved, 2 * page_bytes());
}

TEST_F(Watched, WhatWasDiscarded) {
  ::madvise(page(5), 2 * page_bytes(), MADV_DONTNEED);
  const auto changes = take();
  EXPECT_EQ(change_of(4, changes), std::nullopt);
  EXPECT_EQ(change_of(5, changes), MemoryChange::discarded);
  EXPECT_EQ(change_of(6, changes), MemoryChange::discarded);
  EXPECT_EQ(change_of(7, changes), std::nullopt);
}

TEST_F(Watched, TheHeapThatShrinks) {
  auto* const top = static_cast<std::byte*>(::sbrk(static_cast<std::intptr_t>(4 * page_bytes())));
  ASSERT_TRUE(watch->watch({top, 4 * page_bytes()}).ok());
  ASSERT_EQ(::sbrk(-static_cast<std::intptr_t>(4 * page_bytes())), top + 4 * page_bytes());
  EXPECT_FALSE(take().empty());
}

TEST_F(Watched, MemoryOfFiles) {
  const FileDescriptor file(::memfd_create("watched", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(page_bytes())), 0);
  void* const shared =
      ::mmap(nullptr, page_bytes(), readable_and_writable, MAP_SHARED, file.get(), 0);
  ASSERT_TRUE(watch->watch({static_cast<std::byte*>(shared), page_bytes()}).ok());
  ::munmap(shared, page_bytes());
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(Watched, HugePages) {
  constexpr std::size_t bytes = 2 << 20;
  void* const huge = ::mmap(nullptr, bytes, readable_and_writable,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (huge == MAP_FAILED) GTEST_SKIP() << "this machine has no huge pages";
  // Of a part, all that shares its page.
  ASSERT_TRUE(watch->watch({static_cast<std::byte*>(huge) + 100, 100}).ok());
  ::munmap(huge, bytes);
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(Watched, WhatCanNotBeWatchedIsRefused) {
  const FileDescriptor program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  void* const shared = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, program.get(), 0);
  ASSERT_NE(shared, MAP_FAILED);
  EXPECT_FALSE(watch->watch({static_cast<std::byte*>(shared), page_bytes()}).ok());
  ::munmap(shared, page_bytes());
}

TEST_F(Watched, WhoLagsBehindIsToldThatEverythingHasChanged) {
  std::uint64_t in_time = position;
  for (std::size_t i = 0; i < memory_changes_max; ++i)
    ::madvise(page(0), page_bytes(), MADV_DONTNEED);
  EXPECT_EQ(take().size(), memory_changes_max);
  ::madvise(page(0), page_bytes(), MADV_DONTNEED);
  EXPECT_EQ(take().size(), 1U);
  position = in_time;
  const auto all = take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().begin, 0U);
  EXPECT_EQ(all.front().end, UINTPTR_MAX);
}

TEST_F(Watched, ChangesAreToldWithoutBeingAskedFor) {
  ::madvise(page(0), page_bytes(), MADV_DONTNEED);
  while (told == 0) std::this_thread::yield();
}

TEST_F(Watched, OneListenerStaysWhenAnotherOneGoes) {
  struct Other final : platform::MemoryListener {
    void on_memory_change() override { ++changes; }
    std::atomic<int> changes = 0;
  };
  Other first;
  Other last;
  watch->listen(first);
  watch->listen(last);
  watch->ignore(first);
  stop_listening();
  ::madvise(page(0), page_bytes(), MADV_DONTNEED);
  while (last.changes == 0) std::this_thread::yield();
  EXPECT_EQ(first.changes, 0);
  EXPECT_EQ(told, 0);
  watch->ignore(last);
}

TEST_F(Watched, AChildDoesWhatItLikes) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr unsigned limit_s = 10;
    ::alarm(limit_s);
    watch->lose();
    ::munmap(memory, pages * page_bytes());
    watch->settle();
    ::_exit(take().empty() && watch->watch({memory, page_bytes()}).ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(take().empty());
  ::munmap(page(0), page_bytes());
  EXPECT_EQ(take().size(), 1U);
}

// An address that one thread has just unmapped, another one gets: what it watches has not changed.
// Without settle() some of 20000 rounds go wrong.
TEST_F(Watched, AnAddressThatIsGivenAwayAgainIsNew) {
  constexpr int rounds = 5000;
  const std::size_t bytes = 4 * page_bytes();
  std::atomic<int> wrong = 0;
  const auto map_and_unmap = [&] {
    for (int i = 0; i < rounds; ++i) {
      std::byte* const mine = map_pages(4);
      const auto begin = reinterpret_cast<std::uintptr_t>(mine);
      watch->settle();
      std::uint64_t since = watch->position();
      if (!watch->watch({mine, bytes}).ok()) ++wrong;
      std::this_thread::yield();
      for (ChangedMemory next{}; watch->take(&since, {&next, 1}) > 0;)
        if (next.begin < begin + bytes && begin < next.end) ++wrong;
      ::munmap(mine, bytes);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(map_and_unmap);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hawser::platform
