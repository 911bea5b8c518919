#include "hostmem/row_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace hawser::hostmem {
namespace {

constexpr std::size_t row_frame_bytes = 1024;

/// What a frame takes, in nanoseconds.
struct Takes {
  std::uint64_t ordinary;
  std::uint64_t past_cache;
};
constexpr Takes near_cores{135, 205};  // cores that share a cache
constexpr Takes far_cores{660, 220};   // cores that don't

/// Rows of frames, one after the other.
class Rows {
 public:
  /// How many of the frames are written past the caches.
  int write(int rows, int frames_of_a_row, const Takes& takes) {
    int past_cache = 0;
    for (int row = 0; row < rows; ++row) {
      choice.begin_row();
      now_ns += pause_ns;
      for (int frame = 0; frame < frames_of_a_row; ++frame) {
        const bool is_past_cache =
            choice.next(row_frame_bytes, choice.wants_time() ? now_ns : no_time_ns);
        now_ns += is_past_cache ? takes.past_cache : takes.ordinary;
        past_cache += static_cast<int>(is_past_cache);
        if (interrupt_ns > 0 && ++frames_ % 1000 == 0) now_ns += interrupt_ns;
      }
    }
    return past_cache;
  }

  RowCopyChoice choice;
  std::uint64_t now_ns = 1'000'000;
  std::uint64_t pause_ns = 10'000;  // between two rows
  std::uint64_t interrupt_ns = 0;

 private:
  static constexpr std::uint64_t no_time_ns = 0;
  int frames_ = 0;
};

TEST(RowCopyChoice, PastTheCachesWhereThatIsQuicker) {
  EXPECT_GT(Rows().write(100, 60, far_cores), 5000);
  EXPECT_LT(Rows().write(100, 60, near_cores), 200) << "trials";
}

TEST(RowCopyChoice, NotForALittle) {
  constexpr Takes alike{220, 200};
  EXPECT_LT(Rows().write(100, 60, alike), 200) << "the reader pays as well";
}

TEST(RowCopyChoice, FollowsAMoveOfTheProcesses) {
  Rows rows;
  rows.write(1000, 60, near_cores);
  rows.write(40, 60, far_cores);
  EXPECT_GT(rows.write(100, 60, far_cores), 5000);
  rows.write(1000, 60, far_cores);
  rows.write(40, 60, near_cores);
  EXPECT_LT(rows.write(100, 60, near_cores), 200);
}

TEST(RowCopyChoice, TriesTheOtherWaySeldom) {
  Rows rows;
  rows.write(1000, 60, near_cores);
  EXPECT_LE(rows.write(1000, 60, near_cores), 60'000 / 64 + 16);
}

TEST(RowCopyChoice, RowsTooShortForAWindowGoAsBefore) {
  EXPECT_EQ(Rows().write(1000, 16, far_cores), 0);
}

TEST(RowCopyChoice, AnInterruptChangesNothingForLong) {
  Rows rows;
  rows.interrupt_ns = 4'000'000;
  rows.write(100, 60, near_cores);
  EXPECT_LT(rows.write(1000, 60, near_cores), 6000);
  rows.write(100, 60, far_cores);
  EXPECT_GT(rows.write(1000, 60, far_cores), 54'000);
}

}  // namespace
}  // namespace hawser::hostmem
