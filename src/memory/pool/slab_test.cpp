#include "memory/pool/slab.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

namespace hawser::memory {
namespace {

TEST(Slab, ObjectsAreAlignedAndDoNotOverlap) {
  constexpr std::size_t object_bytes = 200;
  constexpr int objects = 20000;  // beyond the first chunk of the largest size
  Ledger ledger;
  Slab slab(ledger, Account::requests, object_bytes);
  std::set<std::uintptr_t> taken;
  for (int i = 0; i < objects; ++i) {
    void* object = slab.take();
    std::memset(object, 0xa5, object_bytes);
    taken.insert(reinterpret_cast<std::uintptr_t>(object));
  }
  ASSERT_EQ(taken.size(), static_cast<std::size_t>(objects));
  std::uintptr_t end = 0;
  for (const std::uintptr_t object : taken) {
    EXPECT_EQ(object % Slab::alignment, 0U);
    EXPECT_GE(object, end);
    end = object + object_bytes;
  }
}

TEST(Slab, ChargesItsChunksAndRefundsThem) {
  Ledger ledger;
  {
    Slab slab(ledger, Account::requests, 64);
    EXPECT_EQ(ledger.current_bytes(Account::requests), 0);
    slab.take();
    EXPECT_EQ(ledger.current_bytes(Account::requests), 4096);
    for (int i = 0; i < 64; ++i) slab.take();
    EXPECT_EQ(ledger.current_bytes(Account::requests), 4096 + 8192);
  }
  EXPECT_EQ(ledger.current_bytes(Account::requests), 0);
}

TEST(Slab, AnObjectMayBeLargerThanAChunk) {
  constexpr std::size_t object_bytes = Slab::chunk_bytes_max + 1;
  Ledger ledger;
  Slab slab(ledger, Account::requests, object_bytes);
  std::memset(slab.take(), 1, object_bytes);
  std::memset(slab.take(), 2, object_bytes);
}

}  // namespace
}  // namespace hawser::memory
