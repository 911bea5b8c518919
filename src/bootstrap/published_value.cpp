#include "bootstrap/published_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// States of PublishedValue::published.
constexpr std::uint32_t value_free = 0;
constexpr std::uint32_t value_being_written = 1;
constexpr std::uint32_t value_valid = 2;

std::string_view key_of(const PublishedValue& slot) {
  return {slot.key, ::strnlen(slot.key, sizeof(slot.key))};
}

}  // namespace

Result<void> check_publishable(std::string_view key, std::span<const std::byte> value) {
  if (key.empty() || key.size() >= sizeof(PublishedValue::key))
    return Error(ErrorClass::arg, fmt::format("the key '{}' to publish has {} bytes, not 1 to {}",
                                              key, key.size(), sizeof(PublishedValue::key) - 1));
  if (value.size() >= sizeof(PublishedValue::value))
    return Error(ErrorClass::arg,
                 fmt::format("the value of '{}' to publish has {} bytes, more than {}", key,
                             value.size(), sizeof(PublishedValue::value) - 1));
  return {};
}

Result<void> publish_value(std::span<PublishedValue> slots, std::string_view key,
                           std::span<const std::byte> value) {
  HAWSER_TRY(check_publishable(key, value));
  for (PublishedValue& slot : slots) {
    // Only this process writes here.
    if (slot.published.load(std::memory_order_relaxed) == value_free) {
      slot.published.store(value_being_written, std::memory_order_relaxed);
      std::copy(key.begin(), key.end(), slot.key);
      std::copy(value.begin(), value.end(), slot.value);
      slot.value_bytes = static_cast<std::uint32_t>(value.size());
      // Whoever reads `valid` with acquire sees key and value.
      slot.published.store(value_valid, std::memory_order_release);
      return {};
    }
    if (key_of(slot) == key)
      return Error(ErrorClass::arg, fmt::format("'{}' was published already", key));
  }
  return Error(ErrorClass::no_mem,
               fmt::format("no room to publish '{}': a process has {} values", key, slots.size()));
}

Result<std::optional<std::vector<std::byte>>> find_value(std::span<const PublishedValue> slots,
                                                         std::string_view key) {
  using Found = std::optional<std::vector<std::byte>>;
  for (const PublishedValue& slot : slots) {
    if (slot.published.load(std::memory_order_acquire) != value_valid) break;
    if (key_of(slot) != key) continue;
    const std::uint32_t bytes = slot.value_bytes;
    if (bytes >= sizeof(slot.value))
      return Error(ErrorClass::intern,
                   fmt::format("the published value '{}' claims {} bytes; its memory is damaged",
                               key, bytes));
    return Found(std::vector<std::byte>(slot.value, slot.value + bytes));
  }
  return Found();
}

}  // namespace hawser::bootstrap
