#include "memory/registration/registration_cache.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "memory/registration/recording_registrar.hpp"

namespace hawser::memory {
namespace {

constexpr std::size_t page = 4096;

/// The address at which page NUMBER begins.
constexpr std::uintptr_t at(std::uintptr_t number) { return (1000 + number) * page; }

class RegistrationCacheTest : public testing::Test {
 protected:
  static constexpr std::size_t budget_pages = 16;

  RegistrationCache::Lease acquire_pages(std::uintptr_t first, std::size_t count) {
    auto acquired = cache->acquire(at(first), count * page);
    EXPECT_TRUE(acquired.ok());
    if (!acquired.ok()) return {};
    EXPECT_TRUE(registrar.covers(acquired->handle(), {at(first), at(first + count)}));
    return std::move(*acquired);
  }
  /// Acquires and gives back.
  void touch_pages(std::uintptr_t first, std::size_t count) { acquire_pages(first, count); }
  [[nodiscard]] bool is_registered(std::uintptr_t first, std::size_t count) const {
    return std::ranges::any_of(registrar.registered, [&](const auto& each) {
      return each.second == AddressRange{at(first), at(first + count)};
    });
  }
  void start(const RegistrationSettings& settings) { cache.emplace(registrar, ledger, settings); }

  Ledger ledger;
  RecordingRegistrar registrar;
  std::optional<RegistrationCache> cache{std::in_place, registrar, ledger,
                                         RegistrationSettings{budget_pages * page, page}};
};

TEST_F(RegistrationCacheTest, RegistersThePagesAroundWhatIsAskedFor) {
  auto lease = cache->acquire(at(0) + 1, page);
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE(is_registered(0, 2));
}

TEST_F(RegistrationCacheTest, WhatIsRegisteredIsFoundAgain) {
  const auto first = acquire_pages(0, 4);
  const auto all = acquire_pages(0, 4);
  const auto part = acquire_pages(1, 2);
  EXPECT_EQ(all.handle(), first.handle());
  EXPECT_EQ(part.handle(), first.handle());
  EXPECT_EQ(registrar.asked, 1);
  EXPECT_EQ(cache->counters().hits, 2U);
  EXPECT_EQ(cache->counters().misses, 1U);
}

TEST_F(RegistrationCacheTest, StaysWhenNobodyUsesIt) {
  touch_pages(0, 4);
  EXPECT_TRUE(is_registered(0, 4));
  touch_pages(0, 4);
  EXPECT_EQ(registrar.asked, 1);
}

TEST_F(RegistrationCacheTest, ALeaseCanBeMoved) {
  auto first = acquire_pages(0, 1);
  auto second = acquire_pages(5, 1);
  const auto handle = first.handle();
  RegistrationCache::Lease moved = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.handle(), handle);
  second = std::move(moved);
  EXPECT_EQ(second.handle(), handle);
  second.reset();
  EXPECT_FALSE(second);
}

TEST_F(RegistrationCacheTest, ChargesTheLedgerWhileRegistered) {
  touch_pages(0, 4);
  EXPECT_EQ(ledger.current_bytes(Account::registered), 4 * page);
  EXPECT_EQ(cache->counters().registered_bytes, 4 * page);
  cache.reset();
  EXPECT_EQ(ledger.current_bytes(Account::registered), 0);
  EXPECT_TRUE(registrar.registered.empty());
}

TEST_F(RegistrationCacheTest, MakesRoomByTheLongestUnusedFirst) {
  for (std::uintptr_t i = 0; i < 4; ++i) touch_pages(10 * i, 4);
  touch_pages(0, 4);  // now page 10 is the oldest
  touch_pages(100, 2);
  EXPECT_FALSE(is_registered(10, 4));
  EXPECT_TRUE(is_registered(0, 4));
  EXPECT_TRUE(is_registered(20, 4));
  touch_pages(200, 6);
  EXPECT_FALSE(is_registered(20, 4));
  EXPECT_TRUE(is_registered(0, 4));
  EXPECT_EQ(cache->counters().evictions, 2U);
  EXPECT_EQ(cache->counters().registered_bytes_peak, 16 * page);
}

TEST_F(RegistrationCacheTest, WhatIsInUseIsNotEvicted) {
  const auto used = acquire_pages(0, 12);
  touch_pages(20, 4);
  const auto refused = cache->acquire(at(40), 5 * page);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), static_cast<int>(ErrorClass::no_mem));
  EXPECT_EQ(refused.error().sentence(),
            "registered memory: 20480 bytes more do not fit: 49152 of at most 65536 bytes are in "
            "use; a larger limit would hold them");
  // Nothing was given up for what can't be.
  EXPECT_TRUE(is_registered(20, 4));
  EXPECT_TRUE(is_registered(0, 12));
  touch_pages(40, 4);
  EXPECT_FALSE(is_registered(20, 4));
}

TEST_F(RegistrationCacheTest, MoreThanTheBudgetIsRefused) {
  EXPECT_FALSE(cache->acquire(at(0), (budget_pages + 1) * page).ok());
  EXPECT_FALSE(cache->acquire(at(0), SIZE_MAX).ok());
  touch_pages(0, budget_pages);
}

TEST_F(RegistrationCacheTest, ADeviceWithoutRoomIsAskedOnceMoreWithoutTheUnused) {
  registrar.room_bytes = 8 * page;
  const auto used = acquire_pages(0, 4);
  touch_pages(20, 2);
  touch_pages(30, 2);
  registrar.asked = 0;
  touch_pages(40, 4);
  EXPECT_EQ(registrar.asked, 2);
  EXPECT_FALSE(is_registered(20, 2));
  EXPECT_FALSE(is_registered(30, 2));
  const auto refused = cache->acquire(at(60), 5 * page);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().sentence(), "the device has no room");
  EXPECT_EQ(registrar.registered.size(), 1U);
  // Nothing unused is left: once is enough.
  registrar.asked = 0;
  EXPECT_FALSE(cache->acquire(at(60), 5 * page).ok());
  EXPECT_EQ(registrar.asked, 1);
}

TEST_F(RegistrationCacheTest, MemoryThatCanNotBeRegisteredCostsNobodyElse) {
  touch_pages(20, 2);
  registrar.refused = {at(0), at(1)};
  const auto refused = cache->acquire(at(0), page);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), static_cast<int>(ErrorClass::buffer));
  EXPECT_TRUE(is_registered(20, 2));
  EXPECT_EQ(ledger.current_bytes(Account::registered), 2 * page);
}

TEST_F(RegistrationCacheTest, ALargerOneReplacesWhatLiesWithin) {
  touch_pages(1, 1);
  const auto used = acquire_pages(3, 1);
  touch_pages(0, 8);
  EXPECT_FALSE(is_registered(1, 1));
  EXPECT_TRUE(is_registered(3, 1));
  EXPECT_TRUE(is_registered(0, 8));
  // The one in use ends with its last lease.
  EXPECT_NE(acquire_pages(3, 1).handle(), used.handle());
}

TEST_F(RegistrationCacheTest, WhatWasReplacedInUseEndsWithItsLease) {
  auto used = acquire_pages(3, 1);
  touch_pages(0, 8);
  used.reset();
  EXPECT_FALSE(is_registered(3, 1));
  EXPECT_EQ(registrar.registered.size(), 1U);
}

TEST_F(RegistrationCacheTest, TakesInUnusedNeighboursThatOverlap) {
  touch_pages(0, 3);
  touch_pages(5, 3);
  touch_pages(2, 4);
  EXPECT_TRUE(is_registered(0, 8));
  EXPECT_EQ(registrar.registered.size(), 1U);
}

TEST_F(RegistrationCacheTest, NeighboursThatTouchStayApart) {
  touch_pages(0, 4);
  touch_pages(4, 4);
  EXPECT_TRUE(is_registered(0, 4));
  EXPECT_TRUE(is_registered(4, 4));
}

TEST_F(RegistrationCacheTest, DoesNotRegisterMoreThanTwiceWhatIsAskedFor) {
  touch_pages(0, 8);
  touch_pages(7, 3);
  EXPECT_TRUE(is_registered(0, 8));
  EXPECT_TRUE(is_registered(7, 3));
  // Each is found though they overlap.
  registrar.asked = 0;
  touch_pages(0, 8);
  touch_pages(7, 3);
  touch_pages(7, 1);
  EXPECT_EQ(registrar.asked, 0);
}

TEST_F(RegistrationCacheTest, ANeighbourInUseStaysAsItIs) {
  const auto used = acquire_pages(0, 4);
  touch_pages(2, 4);
  EXPECT_TRUE(is_registered(2, 4));
  EXPECT_EQ(registrar.registered.size(), 2U);
}

TEST_F(RegistrationCacheTest, ANeighbourThatIsGoneDoesNotHinder) {
  touch_pages(0, 4);
  registrar.refused = {at(0), at(1)};
  touch_pages(2, 4);
  EXPECT_TRUE(is_registered(2, 4));
}

TEST_F(RegistrationCacheTest, WhatHasGoneIsForgottenAtTheNextLook) {
  touch_pages(0, 4);
  touch_pages(10, 4);
  cache->invalidate(at(13) + 100, 1);
  EXPECT_TRUE(is_registered(10, 4));
  cache->apply_invalidations();
  EXPECT_FALSE(is_registered(10, 4));
  EXPECT_TRUE(is_registered(0, 4));
  EXPECT_EQ(cache->counters().invalidations, 1U);
  EXPECT_EQ(cache->counters().registered_bytes, 4 * page);
}

TEST_F(RegistrationCacheTest, WhatHasGoneIsNotHandedOutAgain) {
  const auto before = acquire_pages(0, 4);
  cache->invalidate(at(0), 4 * page);
  const auto after = acquire_pages(0, 4);
  EXPECT_NE(after.handle(), before.handle());
  // The first is in use: it ends with its lease.
  EXPECT_TRUE(registrar.registered.contains(before.handle()));
}

TEST_F(RegistrationCacheTest, WhatHasGoneInUseEndsWithItsLastLease) {
  auto one = acquire_pages(0, 4);
  auto other = acquire_pages(0, 4);
  cache->invalidate(at(0), page);
  cache->apply_invalidations();
  one.reset();
  EXPECT_TRUE(is_registered(0, 4));
  other.reset();
  EXPECT_FALSE(is_registered(0, 4));
}

TEST_F(RegistrationCacheTest, NeighboursOfWhatHasGoneStay) {
  touch_pages(0, 2);
  touch_pages(2, 2);
  touch_pages(4, 2);
  cache->invalidate(at(2), 2 * page);
  cache->apply_invalidations();
  EXPECT_TRUE(is_registered(0, 2));
  EXPECT_FALSE(is_registered(2, 2));
  EXPECT_TRUE(is_registered(4, 2));
}

TEST_F(RegistrationCacheTest, OfOverlappingOnesAllThatAreHitGo) {
  touch_pages(0, 8);
  touch_pages(7, 3);
  touch_pages(9, 1);
  cache->invalidate(at(7), page);
  cache->apply_invalidations();
  EXPECT_TRUE(registrar.registered.empty());
}

TEST_F(RegistrationCacheTest, MoreEventsThanArePlacesTakeEverything) {
  touch_pages(0, 4);
  for (std::uint32_t i = 0; i <= noted_ranges_max; ++i) cache->invalidate(at(1000), page);
  touch_pages(20, 4);
  EXPECT_FALSE(is_registered(0, 4));
  EXPECT_TRUE(is_registered(20, 4));
}

TEST_F(RegistrationCacheTest, ReleasesAllThatIsUnused) {
  const auto used = acquire_pages(0, 4);
  touch_pages(20, 4);
  touch_pages(30, 4);
  cache->release_unused();
  EXPECT_EQ(registrar.registered.size(), 1U);
  EXPECT_TRUE(is_registered(0, 4));
  EXPECT_EQ(cache->counters().evictions, 0U);
}

TEST_F(RegistrationCacheTest, WithoutEventsNothingIsKeptOrShared) {
  start({.pinned_bytes_max = budget_pages * page, .page_bytes = page, .keep = false});
  auto one = acquire_pages(0, 4);
  auto other = acquire_pages(0, 4);
  EXPECT_NE(one.handle(), other.handle());
  one.reset();
  EXPECT_EQ(registrar.registered.size(), 1U);
  other.reset();
  EXPECT_TRUE(registrar.registered.empty());
  EXPECT_EQ(ledger.current_bytes(Account::registered), 0);
  const auto all = acquire_pages(0, budget_pages);
  EXPECT_FALSE(cache->acquire(at(0), page).ok());
}

/// A device whose library frees memory while it registers.
class FreeingRegistrar final : public Registrar {
 public:
  Result<RegistrationHandle> add(std::uintptr_t address, std::size_t /*bytes*/) override {
    on_call(address);
    return ++last_handle;
  }
  void remove(RegistrationHandle /*handle*/) override { on_call(0); }

  std::function<void(std::uintptr_t)> on_call;
  RegistrationHandle last_handle = 0;
};

TEST(RegistrationCacheEvents, MayComeFromWithinTheRegistrar) {
  Ledger ledger;
  FreeingRegistrar registrar;
  RegistrationCache cache(registrar, ledger, {.pinned_bytes_max = 64 * page, .page_bytes = page});
  registrar.on_call = [&](std::uintptr_t) { cache.invalidate(at(0), page); };
  EXPECT_EQ(cache.acquire(at(0), page)->handle(), 1U);
  // It came between the look and the registration, so it counts for that.
  EXPECT_EQ(cache.acquire(at(0), page)->handle(), 2U);
  registrar.on_call = [](std::uintptr_t) {};
}

// A thread takes memory away, as munmap would: event first. Another gets it, knows that, and must
// not be given a registration of before.
TEST(RegistrationCacheEvents, OfOtherThreadsAreNeverMissed) {
  constexpr std::uint64_t rounds = 20'000;
  Ledger ledger;
  RecordingRegistrar registrar;
  RegistrationCache cache(registrar, ledger, {.pinned_bytes_max = 64 * page, .page_bytes = page});
  std::atomic<std::uint64_t> mapped = 0;    // how often there was new memory at page 0
  std::atomic<std::uint64_t> acquired = 0;  // the round that was answered
  std::atomic<bool> is_over = false;
  std::thread mapper([&] {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      cache.invalidate(at(0), page);
      mapped.store(round, std::memory_order_release);
      while (acquired.load(std::memory_order_acquire) < round) std::this_thread::yield();
    }
  });
  std::thread other([&] {
    while (!is_over) {
      cache.invalidate(at(500), 3 * page);
      std::this_thread::yield();
    }
  });
  RegistrationHandle last = 0;
  std::uint64_t stale = 0;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    while (mapped.load(std::memory_order_acquire) < round) std::this_thread::yield();
    const auto lease = cache.acquire(at(0), page);
    stale += lease->handle() == last ? 1 : 0;
    last = lease->handle();
    acquired.store(round, std::memory_order_release);
  }
  is_over = true;
  mapper.join();
  other.join();
  EXPECT_EQ(stale, 0U);
}

TEST_F(RegistrationCacheTest, LastingMemoryIsRegisteredAsOneWhenItIsFirstUsed) {
  cache->add_lasting(at(0), 4 * page);
  EXPECT_EQ(registrar.asked, 0) << "nobody has used it";
  EXPECT_TRUE(cache->is_registered(at(1), page)) << "it will be, as one";
  touch_pages(1, 1);
  EXPECT_TRUE(is_registered(0, 4));
  touch_pages(0, 4);
  touch_pages(3, 1);
  EXPECT_EQ(registrar.asked, 1);
}

TEST_F(RegistrationCacheTest, LastingMemoryIsNotEvicted) {
  cache->add_lasting(at(0), 4 * page);
  touch_pages(0, 1);
  for (std::uintptr_t i = 1; i < 10; ++i) touch_pages(100 * i, 12);
  cache->release_unused();
  EXPECT_TRUE(is_registered(0, 4));
  cache->remove_lasting(at(0));
  EXPECT_FALSE(is_registered(0, 4));
  EXPECT_EQ(ledger.current_bytes(Account::registered), 0);
}

TEST_F(RegistrationCacheTest, LastingMemoryStaysRegisteredWithoutEvents) {
  start({budget_pages * page, page, false});
  cache->add_lasting(at(0), 4 * page);
  cache->add_lasting(at(4), 2 * page);
  for (int i = 0; i < 3; ++i) touch_pages(0, 4);
  for (int i = 0; i < 3; ++i) touch_pages(5, 1);
  EXPECT_EQ(registrar.asked, 2);
  for (int i = 0; i < 3; ++i) touch_pages(3, 2);  // parts of both, hence of neither
  EXPECT_EQ(registrar.asked, 5);
  cache->remove_lasting(at(0));
  touch_pages(0, 4);
  EXPECT_FALSE(is_registered(0, 4));
  EXPECT_TRUE(is_registered(4, 2));
}

TEST_F(RegistrationCacheTest, LastingMemoryThatIsDiscardedIsRegisteredAnew) {
  cache->add_lasting(at(0), 4 * page);
  touch_pages(0, 4);
  cache->invalidate(at(2), page);
  touch_pages(0, 1);
  EXPECT_EQ(registrar.asked, 2);
  EXPECT_EQ(cache->counters().registered_bytes, 4 * page) << "the first is gone";
}

TEST_F(RegistrationCacheTest, LastingMemoryBeyondTheBudgetIsRegisteredInParts) {
  cache->add_lasting(at(0), (budget_pages + 1) * page);
  touch_pages(0, 2);
  EXPECT_TRUE(is_registered(0, 2));
}

TEST_F(RegistrationCacheTest, WhatIsUsedOnceIsForgottenAtOnce) {
  auto once = cache->acquire_once(at(0), 2 * page);
  ASSERT_TRUE(once.ok());
  EXPECT_TRUE(is_registered(0, 2));
  EXPECT_FALSE(cache->is_registered(at(0), page));
  touch_pages(5, 1);
  *once = {};
  EXPECT_FALSE(is_registered(0, 2));
  // What is registered already serves, too, and stays.
  once = cache->acquire_once(at(5), page);
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(registrar.asked, 2);
  *once = {};
  EXPECT_TRUE(is_registered(5, 1));
}

}  // namespace
}  // namespace hawser::memory
