// ColdPlaces: whether what a peer's long messages are received into is in no cache, so that it had
// better be written past the caches.
//
// An ordinary store to such a place fetches the line out of memory first, only to overwrite it, and
// drives another one out. A store past the caches (base/copy.hpp) does neither; but then who reads
// what was received reads it out of memory. So this is for messages that a core's own cache could
// not hold anyway: a program that reads 4 MiB at once after it has received them is as quick either
// way, one that does not gets them in four fifths of the time; 64 KiB to 1 MiB and their reading
// take 8 to 18 % longer past the caches (EPYC 9004).
//
// A state machine without a clock: note() hears of each run and says whether its place is to be
// looked at; looked() hears what is_in_no_cache() found. A place that was written past the caches
// stays cold until the program touches it. So places that are received into again and again do not
// count as cold, whatever a look finds: ordinary stores would have left them in a cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hostmem/cold_looks.hpp"

namespace hawser::hostmem {

class ColdPlaces {
 public:
  /// The shortest message that they matter to: four times what a core's own cache holds.
  static constexpr std::uint64_t message_bytes_min = std::uint64_t{4} << 20;

  /// BYTES of such a message are about to be written to TO. Whether that is to be looked at first.
  bool note(const std::byte* to, std::size_t bytes) {
    watch_for_reuse(reinterpret_cast<std::uintptr_t>(to), bytes);
    if (left_ > 0) {
      --left_;
      return false;
    }
    left_ = runs_between_looks;
    return true;
  }
  /// Whether it was in no cache.
  void looked(bool is_cold) { looks_.note(is_cold); }
  [[nodiscard]] bool are_cold() const { return looks_.are_cold() && !is_reused_; }

 private:
  static constexpr std::uint8_t runs_between_looks = 15;
  /// What is written again before so much else was received would be in a cache that cores share.
  static constexpr std::uint64_t reuse_bytes_max = std::uint64_t{16} << 20;

  /// One place is watched at a time: until it is written again, or too late.
  void watch_for_reuse(std::uintptr_t to, std::size_t bytes) {
    const bool is_again = watched_ - to < bytes;
    if (is_again || since_watched_ >= reuse_bytes_max) {
      is_reused_ = is_again;
      watched_ = to;
      since_watched_ = 0;
    }
    since_watched_ += bytes;
  }

  std::uintptr_t watched_ = 0;
  std::uint64_t since_watched_ = reuse_bytes_max;  // bytes received since it was written
  bool is_reused_ = false;
  std::uint8_t left_ = 0;  // runs until the next look
  ColdLooks looks_;
};

}  // namespace hawser::hostmem
