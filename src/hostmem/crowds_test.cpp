#include "hostmem/crowds.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace hawser::hostmem {
namespace {

constexpr std::uint64_t now_ns = 1'000'000'000'000;

platform::CoreSet core_set(std::initializer_list<std::size_t> cores) {
  platform::CoreSet set;
  for (const std::size_t core : cores) set.set(core);
  return set;
}

/// One process on each of CORES, which has told so just now.
std::vector<WakeWord> processes_on(std::initializer_list<int> cores) {
  std::vector<WakeWord> words(cores.size());
  std::size_t process = 0;
  for (const int core : cores) Crowds::tell(words[process++], core, now_ns);
  return words;
}

TEST(Crowds, TheLeastCrowdedCoreIsBetter) {
  const auto words = processes_on({0, 0, 0, 0, 1, 1, 2});
  const Crowds crowds(words, core_set({0, 1, 2}));
  EXPECT_EQ(crowds.better_core(0, now_ns), 2);
}

TEST(Crowds, NobodyGoesWhereItWouldBeAsCrowded) {
  const auto words = processes_on({0, 0, 0, 1, 1});
  const Crowds crowds(words, core_set({0, 1}));
  EXPECT_EQ(crowds.better_core(0, now_ns), std::nullopt);
  EXPECT_EQ(crowds.better_core(1, now_ns), std::nullopt);
}

TEST(Crowds, OfEquallyCrowdedCoresTheNearestIsBest) {
  const auto words = processes_on({4, 4, 4});
  EXPECT_EQ(Crowds(words, core_set({0, 1, 4, 6, 9})).better_core(4, now_ns), 6);
  EXPECT_EQ(Crowds(words, core_set({0, 3, 4, 6, 9})).better_core(4, now_ns), 3);
}

TEST(Crowds, OnlyCoresThatMayBeUsedAreBetter) {
  const auto words = processes_on({4, 4, 4});
  EXPECT_EQ(Crowds(words, core_set({4})).better_core(4, now_ns), std::nullopt);
  EXPECT_EQ(Crowds(words, core_set({1023})).better_core(4, now_ns), 1023);
}

TEST(Crowds, WhoSleepsHasGoneOrNeverToldIsInNobodysWay) {
  auto words = processes_on({0, 0, 1, 1, 1});
  const Crowds crowds(words, core_set({0, 1}));
  EXPECT_EQ(crowds.better_core(0, now_ns), std::nullopt);
  words[2].word = WakeWord::asleep;
  EXPECT_EQ(crowds.better_core(0, now_ns), std::nullopt);
  Crowds::withdraw(words[3]);
  EXPECT_EQ(crowds.better_core(0, now_ns), std::nullopt);
  words[4].core_told = 0;
  EXPECT_EQ(crowds.better_core(0, now_ns), 1);
}

TEST(Crowds, NobodyIsBetterOffBesideOneWhoComputes) {
  auto words = processes_on({0, 0, 0, 0, 1});
  const Crowds crowds(words, core_set({0, 1, 2}));
  Crowds::tell(words[4], 1, now_ns - Crowds::silent_ns_max - 1);
  EXPECT_EQ(crowds.better_core(0, now_ns), 2);
  EXPECT_EQ(Crowds(words, core_set({0, 1})).better_core(0, now_ns), std::nullopt);
  Crowds::tell(words[4], 1, now_ns - Crowds::silent_ns_max);
  EXPECT_EQ(Crowds(words, core_set({0, 1})).better_core(0, now_ns), 1);
}

TEST(Crowds, NumbersThatNoCoreHasAreHarmless) {
  auto words = processes_on({0, 0});
  words[1].core_told = 4'000'000'000;
  const Crowds crowds(words, core_set({0, 1}));
  EXPECT_EQ(crowds.better_core(0, now_ns), std::nullopt);
  EXPECT_EQ(crowds.better_core(5000, now_ns), std::nullopt);
  EXPECT_EQ(crowds.better_core(-1, now_ns), std::nullopt);
}

}  // namespace
}  // namespace hawser::hostmem
