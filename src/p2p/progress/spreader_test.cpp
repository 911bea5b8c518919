#include "p2p/progress/spreader.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hostmem/crowds.hpp"
#include "p2p/progress/host_waiter.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace hawser::p2p {
namespace {

/// This process, whose word is the first, and three others.
class SpreaderTest : public testing::Test {
 protected:
  SpreaderTest() { waiter_.spread_among(words_, 2); }

  std::array<hostmem::WakeWord, 4> words_{};
  HostWaiter waiter_{words_[0], hostmem::FencePayer::waker, WaitPolicy{.oversubscribed = true}};
};

/// There is another core to go to.
class SpreaderThatMovesTest : public SpreaderTest {
 protected:
  void SetUp() override {
    if (platform::usable_cores() < 2) GTEST_SKIP() << "there is one core only";
  }
  /// The others, which wait all the time, are on CORE.
  void put_others_on(int core) {
    for (std::size_t other = 1; other < words_.size(); ++other)
      hostmem::Crowds::tell(words_[other], core, waiter_.now_ns());
  }
  /// Whether this thread is moved. Turns are late while other programs compute.
  bool moves() {
    const std::uint64_t end_ns = waiter_.now_ns() + 20'000'000'000;
    while (waiter_.core_moves() == 0 && waiter_.now_ns() < end_ns) {
      put_others_on(platform::current_core());
      waiter_.give_way();
    }
    return waiter_.core_moves() > 0;
  }
};

TEST_F(SpreaderThatMovesTest, WhoWaitsLeavesACrowdedCore) { EXPECT_TRUE(moves()); }

TEST_F(SpreaderTest, TellsWhereItIs) {
  while (words_[0].core_told == 0) waiter_.give_way();
  EXPECT_LE(words_[0].told_ns.load(), waiter_.now_ns());
  const auto core = static_cast<std::size_t>(words_[0].core_told - 1);
  EXPECT_TRUE(platform::usable_core_set().test(core));
}

TEST_F(SpreaderThatMovesTest, MayUseAllItsCoresAfterwards) {
  const platform::CoreSet before = platform::usable_core_set();
  EXPECT_TRUE(moves());
  EXPECT_EQ(platform::usable_core_set(), before);
}

TEST(Spreader, LeavesNothingBehind) {
  std::array<hostmem::WakeWord, 2> words{};
  {
    Spreader spreader(words[0], words, 1);
    while (words[0].core_told == 0) spreader.note_turn();
  }
  EXPECT_EQ(words[0].core_told, 0U);
}

}  // namespace
}  // namespace hawser::p2p
