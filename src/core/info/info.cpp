#include "core/info/info.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hawser::core {
namespace {

auto find_key(auto& entries, std::string_view key) {
  return std::find_if(entries.begin(), entries.end(),
                      [key](const auto& entry) { return entry.first == key; });
}

Result<void> check_key(std::string_view key) {
  if (key.empty()) return Error(ErrorClass::info_key, "the info key is empty");
  if (key.size() > Info::key_bytes_max) {
    return Error(ErrorClass::info_key, fmt::format("the info key has {} bytes, at most {} allowed",
                                                   key.size(), Info::key_bytes_max));
  }
  return {};
}

}  // namespace

Result<void> Info::set(std::string_view key, std::string_view value) {
  HAWSER_TRY(check_key(key));
  if (value.size() > value_bytes_max) {
    return Error(ErrorClass::info_value,
                 fmt::format("the value of info key \"{}\" has {} bytes, at most {} allowed", key,
                             value.size(), value_bytes_max));
  }
  if (const auto entry = find_key(entries_, key); entry != entries_.end()) {
    entry->second = value;
  } else {
    entries_.emplace_back(key, value);
  }
  return {};
}

Result<void> Info::erase(std::string_view key) {
  HAWSER_TRY(check_key(key));
  const auto entry = find_key(entries_, key);
  if (entry == entries_.end()) {
    return Error(ErrorClass::info_nokey, fmt::format("there is no info key \"{}\"", key));
  }
  entries_.erase(entry);
  return {};
}

std::optional<std::string_view> Info::get(std::string_view key) const {
  const auto entry = find_key(entries_, key);
  if (entry == entries_.end()) return std::nullopt;
  return entry->second;
}

Result<std::string_view> Info::key(int index) const {
  if (index < 0 || index >= size()) {
    return Error(ErrorClass::arg,
                 fmt::format("info key number {} is not in [0,{})", index, size()));
  }
  return std::string_view(entries_[static_cast<std::size_t>(index)].first);
}

Ref<Info> Info::duplicate() const {
  Ref<Info> copy = base::make_ref<Info>();
  copy->entries_ = entries_;
  return copy;
}

}  // namespace hawser::core
