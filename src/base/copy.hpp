// Copying bytes: memcpy for sizes that are often tiny and known only at run time, or long.
//
// copy_bytes():      any run of bytes.
// copy_long():       ordinary stores, whatever the length. The lines come into this core's cache
//                    first, from wherever they are: cheap where cores share a cache, dear where
//                    they don't. So they are asked for half a KiB ahead (decision 0037).
// copy_from_peer():  the same out of lines that another core has, who wrote them: a KiB or two of
//                    them are asked for ahead. A processor does that by itself, but too late
//                    (decision 0012). Of long runs both halves are copied at once.
// copy_maybe_cold(): the same out of lines that may be in no cache: up to 4 KiB of them are asked
//                    for ahead.
// copy_string():     the processor's string instruction, whatever the length. Where it is quick it
//                    is the quickest of all: it writes whole lines without fetching them. Elsewhere
//                    it takes twenty times as long as the others.
// copy_past_cache(): non-temporal stores. Lines leave for memory without being fetched: several
//                    times quicker between cores that share no cache, slower between those that do.
// Source and destination do not overlap. All are complete, as far as this core's later stores are
// concerned, when they return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hawser::base {

namespace copy_detail {

/// BYTES from sizeof(T) to 2 * sizeof(T): two copies that may overlap.
template <class T>
void copy_two(std::byte* to, const std::byte* from, std::size_t bytes) {
  T first;
  T last;
  std::memcpy(&first, from, sizeof(T));
  std::memcpy(&last, from + bytes - sizeof(T), sizeof(T));
  std::memcpy(to, &first, sizeof(T));
  std::memcpy(to + bytes - sizeof(T), &last, sizeof(T));
}

}  // namespace copy_detail

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes);
void copy_from_peer(std::byte* to, const std::byte* from, std::size_t bytes);
void copy_maybe_cold(std::byte* to, const std::byte* from, std::size_t bytes);
void copy_string(std::byte* to, const std::byte* from, std::size_t bytes);
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes);

/// From this length on memcpy may leave the work to the processor's string instructions, which some
/// processors do twenty times as slowly where the two ends are not alike within a line.
inline constexpr std::size_t long_copy_bytes = 2048;

namespace copy_detail {

inline void copy_any(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= long_copy_bytes) {
    copy_long(to, from, bytes);
  } else if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 4) {
    copy_two<std::uint32_t>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_two<std::uint16_t>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace copy_detail

/// Inlined for 8 to 16 bytes: a number or two.
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from,
                                              std::size_t bytes) {
  if (bytes - 8 <= 8) {
    copy_detail::copy_two<std::uint64_t>(to, from, bytes);
  } else {
    copy_detail::copy_any(to, from, bytes);
  }
}
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  copy_bytes(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}

}  // namespace hawser::base
