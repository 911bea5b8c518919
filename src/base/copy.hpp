// copy_bytes: memcpy for sizes that are often tiny and known only at run time.
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

/// Copies BYTES that do not overlap. Up to 16 of them cost no call.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    copy_detail::copy_two<std::uint64_t>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_detail::copy_two<std::uint32_t>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_detail::copy_two<std::uint16_t>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace hawser::base
