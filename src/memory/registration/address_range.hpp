// AddressRange: the addresses from begin to before end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hawser::memory {

struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] std::size_t bytes() const { return end - begin; }
  [[nodiscard]] bool covers(const AddressRange& other) const {
    return begin <= other.begin && other.end <= end;
  }
  [[nodiscard]] bool overlaps(const AddressRange& other) const {
    return begin < other.end && other.begin < end;
  }
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// All of them (but the last byte, which is nobody's).
inline constexpr AddressRange whole_address_space{0, UINTPTR_MAX};

/// The smallest range with both in it.
inline AddressRange hull(const AddressRange& one, const AddressRange& other) {
  return {std::min(one.begin, other.begin), std::max(one.end, other.end)};
}

/// The pages around BYTES from ADDRESS on; they end with the address space at the latest.
/// PAGE_BYTES is a power of two.
inline AddressRange pages_around(std::uintptr_t address, std::size_t bytes,
                                 std::size_t page_bytes) {
  const std::uintptr_t within_page = page_bytes - 1;
  const std::uintptr_t last_page = UINTPTR_MAX - within_page;
  const std::uintptr_t begin = address & ~within_page;
  if (address > last_page || bytes > last_page - address) return {begin, last_page};
  return {begin, (address + bytes + within_page) & ~within_page};
}

}  // namespace hawser::memory
