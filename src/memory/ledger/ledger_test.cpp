#include "memory/ledger/ledger.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hawser::memory {
namespace {

TEST(Ledger, StartsEmpty) {
  const Ledger ledger;
  for (std::size_t i = 0; i < account_count; ++i) {
    EXPECT_EQ(ledger.current_bytes(static_cast<Account>(i)), 0);
    EXPECT_EQ(ledger.peak_bytes(static_cast<Account>(i)), 0);
  }
}

TEST(Ledger, KeepsTheHighestBalanceOfAnAccount) {
  Ledger ledger;
  ledger.charge(Account::rings, 100);
  ledger.charge(Account::rings, 50);
  ledger.refund(Account::rings, 120);
  ledger.charge(Account::rings, 10);
  EXPECT_EQ(ledger.current_bytes(Account::rings), 40);
  EXPECT_EQ(ledger.peak_bytes(Account::rings), 150);
}

TEST(Ledger, CountsHowOftenAnAccountWasCharged) {
  Ledger ledger;
  ledger.charge(Account::registered, 100);
  ledger.refund(Account::registered, 100);
  ledger.charge(Account::registered, 1);
  EXPECT_EQ(ledger.charges(Account::registered), 2U);
  EXPECT_EQ(ledger.charges(Account::rings), 0U);
}

TEST(Ledger, AccountsAreSeparate) {
  Ledger ledger;
  ledger.charge(Account::segment, 1);
  ledger.charge(Account::groups, 2);
  EXPECT_EQ(ledger.current_bytes(Account::segment), 1);
  EXPECT_EQ(ledger.current_bytes(Account::groups), 2);
  EXPECT_EQ(ledger.current_bytes(Account::rings), 0);
}

TEST(Ledger, EveryAccountHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < account_count; ++i)
    names.insert(account_name(static_cast<Account>(i)));
  EXPECT_EQ(names.size(), account_count);
  EXPECT_STREQ(account_name(Account::segment), "segment");
  EXPECT_STREQ(account_name(Account::groups), "groups");
  EXPECT_STREQ(account_name(Account::registered), "registered");
  EXPECT_STREQ(account_name(Account::kept_frames), "kept_frames");
}

TEST(Ledger, CountsEveryThread) {
  constexpr int threads_count = 4;
  constexpr int rounds = 10'000;
  Ledger ledger;
  std::vector<std::thread> threads;
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&ledger] {
      for (int round = 0; round < rounds; ++round) {
        ledger.charge(Account::unexpected, 3);
        ledger.refund(Account::unexpected, 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr std::int64_t left = std::int64_t{threads_count} * rounds;
  EXPECT_EQ(ledger.current_bytes(Account::unexpected), left);
  EXPECT_GE(ledger.peak_bytes(Account::unexpected), left);
  EXPECT_LE(ledger.peak_bytes(Account::unexpected), left + std::int64_t{2} * threads_count);
}

}  // namespace
}  // namespace hawser::memory
