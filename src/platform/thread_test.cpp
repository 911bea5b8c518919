#include "platform/thread.hpp"

#include <gtest/gtest.h>

#include "platform/process.hpp"

namespace hawser::platform {
namespace {

/// What BODY returns, in a thread whose cores are nobody else's business.
template <class Body>
CoreSet in_thread(Body&& body) {
  CoreSet cores;
  quiet_thread([&] { cores = body(); }).join();
  return cores;
}

/// The calling thread may run on no other core from now on than on this one, which is returned.
int keep_to_this_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  const int core = current_core();
  CPU_SET(core, &one);
  EXPECT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  return core;
}

TEST(MoveThisThread, GoesWhereItMayRunAndStaysFree) {
  const CoreSet all = usable_core_set();
  for (std::size_t core = all._Find_first(); core < all.size(); core = all._Find_next(core)) {
    const CoreSet kept = in_thread([&] {
      EXPECT_TRUE(move_this_thread(static_cast<int>(core)));
      return usable_core_set();
    });
    EXPECT_EQ(kept, all);
  }
}

TEST(MoveThisThread, GoesNowhereElse) {
  const CoreSet kept = in_thread([] {
    const int core = keep_to_this_core();
    EXPECT_FALSE(move_this_thread(core + 1));
    EXPECT_FALSE(move_this_thread(CPU_SETSIZE));
    EXPECT_EQ(current_core(), core);
    return usable_core_set();
  });
  EXPECT_EQ(kept.count(), 1U);
}

TEST(OtherCores, KeepTheThreadOffOneCoreAtATime) {
  const CoreSet all = usable_core_set();
  const int first = static_cast<int>(all._Find_first());
  for (int core = first; core < static_cast<int>(all.size()); ++core) {
    if (!all[static_cast<std::size_t>(core)]) continue;
    const CoreSet kept = in_thread([&] {
      OtherCores cores;
      cores.avoid(first);
      cores.avoid(core);
      if (all.count() > 1) {
        EXPECT_NE(current_core(), core);
      }
      return usable_core_set();
    });
    CoreSet expected = all;
    expected.reset(static_cast<std::size_t>(core));
    EXPECT_EQ(kept, expected.any() ? expected : all);
  }
  const CoreSet again = in_thread([&] {
    OtherCores cores;
    cores.avoid(first);
    cores.avoid(-1);
    return usable_core_set();
  });
  EXPECT_EQ(again, all);
}

TEST(OtherCores, AThreadWithOneCoreKeepsIt) {
  const CoreSet kept = in_thread([] {
    const int core = keep_to_this_core();
    OtherCores cores;
    cores.avoid(core);
    EXPECT_EQ(current_core(), core);
    return usable_core_set();
  });
  EXPECT_EQ(kept.count(), 1U);
}

}  // namespace
}  // namespace hawser::platform
