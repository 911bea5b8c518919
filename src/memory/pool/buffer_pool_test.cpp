#include "memory/pool/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "memory/registration/recording_registrar.hpp"
#include "platform/file.hpp"

namespace hawser::memory {
namespace {

class BufferPoolTest : public testing::Test {
 protected:
  static constexpr std::size_t buffer_bytes = 1000;
  static constexpr std::size_t slab_buffers = 8;
  static constexpr std::size_t slabs_max = 3;

  BufferPool::Buffer* take() {
    auto taken = pool->take();
    EXPECT_TRUE(taken.ok());
    return taken.ok() ? *taken : nullptr;
  }
  std::vector<BufferPool::Buffer*> take_many(std::size_t count) {
    std::vector<BufferPool::Buffer*> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(take());
    return taken;
  }
  void give_back(const std::vector<BufferPool::Buffer*>& buffers) {
    for (BufferPool::Buffer* buffer : buffers) pool->give_back(buffer);
  }
  static AddressRange range_of(BufferPool::Buffer* buffer) {
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer->data());
    return {begin, begin + buffer_bytes};
  }

  Ledger ledger;
  RecordingRegistrar registrar;
  std::optional<BufferPool> pool{
      std::in_place, registrar, ledger,
      BufferPoolSettings{Account::rings, buffer_bytes, slab_buffers, slabs_max}};
};

TEST_F(BufferPoolTest, TakesNothingBeforeItIsAsked) {
  EXPECT_EQ(pool->slab_count(), 0U);
  EXPECT_TRUE(registrar.registered.empty());
  EXPECT_EQ(ledger.current_bytes(Account::rings), 0);
}

TEST_F(BufferPoolTest, BuffersAreApartAlignedAndRegistered) {
  const auto taken = take_many(slab_buffers * slabs_max);
  for (BufferPool::Buffer* buffer : taken) {
    std::memset(buffer->data(), 0xa5, buffer_bytes);
    EXPECT_EQ(range_of(buffer).begin % BufferPool::alignment, 0U);
    EXPECT_TRUE(registrar.covers(buffer->handle(), range_of(buffer)));
    for (BufferPool::Buffer* other : taken)
      EXPECT_EQ(range_of(buffer).overlaps(range_of(other)), buffer == other);
  }
  give_back(taken);
}

TEST_F(BufferPoolTest, RegistersWholePages) {
  pool->give_back(take());
  const AddressRange slab = registrar.registered.begin()->second;
  EXPECT_EQ(slab.begin % platform::page_bytes(), 0U);
  EXPECT_EQ(slab.end % platform::page_bytes(), 0U);
}

TEST_F(BufferPoolTest, GrowsSlabBySlabUpToItsLimit) {
  auto taken = take_many(slab_buffers);
  EXPECT_EQ(pool->slab_count(), 1U);
  taken.push_back(take());
  EXPECT_EQ(pool->slab_count(), 2U);
  EXPECT_FALSE(pool->is_exhausted());
  while (!pool->is_exhausted()) taken.push_back(take());
  EXPECT_EQ(taken.size(), slab_buffers * slabs_max);
  const auto refused = pool->take();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), static_cast<int>(ErrorClass::no_mem));
  EXPECT_EQ(refused.error().sentence(),
            "buffers of 1000 bytes: all 24 are in use; some must come back first, or the limit be "
            "larger");
  pool->give_back(taken.back());
  EXPECT_FALSE(pool->is_exhausted());
  EXPECT_EQ(take(), taken.back());
  give_back(taken);
}

TEST_F(BufferPoolTest, WhatCameBackLastIsTakenFirst) {
  const auto taken = take_many(3);
  pool->give_back(taken[0]);
  pool->give_back(taken[1]);
  EXPECT_EQ(take(), taken[1]);
  EXPECT_EQ(take(), taken[0]);
  give_back(taken);
}

TEST_F(BufferPoolTest, KeepsOneIdleSlabAndGivesOthersBack) {
  const auto taken = take_many(slab_buffers * slabs_max);
  const std::int64_t slab_bytes = ledger.current_bytes(Account::rings) / std::int64_t{slabs_max};
  give_back(taken);
  EXPECT_EQ(pool->slab_count(), 1U);
  EXPECT_EQ(registrar.registered.size(), 1U);
  EXPECT_EQ(ledger.current_bytes(Account::rings), slab_bytes);
  pool->release_idle();
  EXPECT_EQ(pool->slab_count(), 0U);
  EXPECT_TRUE(registrar.registered.empty());
  EXPECT_EQ(ledger.current_bytes(Account::rings), 0);
}

TEST_F(BufferPoolTest, KeepsAsManyIdleSlabsAsItsOwnerWants) {
  BufferPool keeping(registrar, ledger,
                     {.account = Account::rings,
                      .buffer_bytes = 100,
                      .slab_buffers = 2,
                      .slabs_max = 4,
                      .idle_slabs_kept = 3});
  std::vector<BufferPool::Buffer*> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(*keeping.take());
  for (BufferPool::Buffer* const buffer : taken) keeping.give_back(buffer);
  EXPECT_EQ(keeping.slab_count(), 3U);
  keeping.release_idle();
  EXPECT_EQ(keeping.slab_count(), 0U);
}

TEST_F(BufferPoolTest, ABufferAtTheEdgeDoesNotRegisterAgainAndAgain) {
  const auto taken = take_many(slab_buffers);
  for (int i = 0; i < 100; ++i) pool->give_back(take());
  EXPECT_EQ(registrar.asked, 2);
  give_back(taken);
}

TEST_F(BufferPoolTest, TakesFromSlabsThatAreInUse) {
  const auto first = take_many(slab_buffers);
  const auto second = take_many(slab_buffers);
  give_back(first);
  pool->give_back(second[0]);
  // Not from the first slab, which is idle.
  EXPECT_EQ(take(), second[0]);
  give_back(second);
}

TEST_F(BufferPoolTest, WhatTheDeviceRefusesIsAnErrorAndLeavesNothing) {
  registrar.room_bytes = 0;
  const auto refused = pool->take();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().sentence(), "the device has no room");
  EXPECT_EQ(pool->slab_count(), 0U);
  EXPECT_EQ(ledger.current_bytes(Account::rings), 0);
  registrar.room_bytes = SIZE_MAX;
  pool->give_back(take());
}

TEST_F(BufferPoolTest, InAnyOrder) {
  constexpr std::uint64_t seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<BufferPool::Buffer*> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (!pool->is_exhausted() && random() % 2 == 0) {
      BufferPool::Buffer* const buffer = take();
      std::memset(buffer->data(), 0xa5, buffer_bytes);
      ASSERT_EQ(std::ranges::count(taken, buffer), 0);
      taken.push_back(buffer);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      pool->give_back(taken.back());
      taken.pop_back();
    }
    const std::size_t needed = (taken.size() + slab_buffers - 1) / slab_buffers;
    ASSERT_GE(pool->slab_count(), needed);
    ASSERT_EQ(registrar.registered.size(), pool->slab_count());
    ASSERT_EQ(ledger.current_bytes(Account::rings),
              static_cast<std::int64_t>(registrar.registered_bytes));
  }
  give_back(taken);
  pool.reset();
  EXPECT_TRUE(registrar.registered.empty());
}

}  // namespace
}  // namespace hawser::memory
