// Memory that the heap gives back to the host, and gets again at the same address, is registered
// anew: whether it is unmapped, cut off the end of the heap, discarded in its middle, or moved.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <thread>

#include "memory/registration/memory_events.hpp"
#include "platform/file.hpp"

namespace hawser::memory {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr int repetitions = 10'000;

class CountingRegistrar final : public Registrar {
 public:
  Result<RegistrationHandle> add(std::uintptr_t /*address*/, std::size_t /*bytes*/) override {
    return ++last_handle_;
  }
  void remove(RegistrationHandle /*handle*/) override {}

 private:
  RegistrationHandle last_handle_ = 0;
};

class HeapEvents : public testing::Test {
 protected:
  void SetUp() override {
    auto started = MemoryEvents::start(cache);
    if (!started.ok()) GTEST_SKIP() << started.error().sentence();
    events = std::move(*started);
    // Both are fixed by being set: libc would adapt them.
    ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
    ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
  }
  void TearDown() override {
    EXPECT_EQ(stale, 0);
    if (events != nullptr) {
      EXPECT_GT(replaced, repetitions / 2);
    }
  }
  /// Blocks may not be mapped by themselves.
  static void keep_blocks_in_the_heap() { ::mallopt(M_MMAP_THRESHOLD, 32 << 20); }

  /// Registers a block, gives it back and looks at the next one at its address.
  void use_block_twice() {
    void* const block = std::malloc(block_bytes);
    const Before before = use(block);
    std::free(block);
    void* const next = std::malloc(block_bytes);
    compare(before, next);
    std::free(next);
  }

  void discard_a_block_again_and_again() {
    void* block = std::malloc(block_bytes);
    void* const behind = std::malloc(block_bytes);
    for (int i = 0; i < repetitions; ++i) {
      const Before before = use(block);
      std::free(block);
      ::malloc_trim(0);
      block = std::malloc(block_bytes);
      compare(before, block);
    }
    std::free(block);
    std::free(behind);
  }

  struct Before {
    std::uintptr_t address;
    RegistrationHandle handle;
  };
  static volatile std::uint64_t& middle_of(void* block) {
    return *(static_cast<volatile std::uint64_t*>(block) + block_bytes / 2 / sizeof(std::uint64_t));
  }
  Before use(void* block) {
    middle_of(block) = mark;
    return {reinterpret_cast<std::uintptr_t>(block), handle_of(block)};
  }
  RegistrationHandle handle_of(const void* block) {
    auto lease = cache.acquire(reinterpret_cast<std::uintptr_t>(block), block_bytes);
    return lease->handle();
  }
  /// If BLOCK lies where the one before did, of other pages, it must be registered anew.
  void compare(const Before& before, void* block) {
    const bool is_replaced = middle_of(block) != mark;
    if (reinterpret_cast<std::uintptr_t>(block) != before.address || !is_replaced) return;
    ++replaced;
    stale += handle_of(block) == before.handle ? 1 : 0;
  }

  static constexpr std::uint64_t mark = 0x1234567812345678;
  Ledger ledger;
  CountingRegistrar registrar;
  RegistrationCache cache{
      registrar,
      ledger,
      {.pinned_bytes_max = std::size_t{1} << 40, .page_bytes = platform::page_bytes()}};
  std::unique_ptr<MemoryEvents> events;
  int stale = 0;
  int replaced = 0;  // blocks whose address stayed, and whose pages did not
};

TEST_F(HeapEvents, BlocksThatAreMappedByThemselves) {
  for (int i = 0; i < repetitions; ++i) use_block_twice();
}

TEST_F(HeapEvents, BlocksAtTheEndOfTheHeap) {
  keep_blocks_in_the_heap();
  for (int i = 0; i < repetitions; ++i) use_block_twice();
}

TEST_F(HeapEvents, PagesInItsMiddle) {
  keep_blocks_in_the_heap();
  discard_a_block_again_and_again();
}

TEST_F(HeapEvents, PagesInTheHeapOfAThread) {
  keep_blocks_in_the_heap();
  std::thread([this] { discard_a_block_again_and_again(); }).join();
}

TEST_F(HeapEvents, BlocksThatGrow) {
  for (int i = 0; i < repetitions; ++i) {
    void* const block = std::malloc(block_bytes);
    const Before before = use(block);
    void* const grown = std::realloc(block, 8 * block_bytes);
    std::free(grown);
    void* const next = std::malloc(block_bytes);
    compare(before, next);
    std::free(next);
  }
}

}  // namespace
}  // namespace hawser::memory
