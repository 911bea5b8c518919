// What is told to PMIx along with a request: plain structures, filled in by hand since the header's
// macros differ between its versions. Texts stay their owner's.
#pragma once

#include <pmix.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace hawser::bootstrap {

/// KEY has at most PMIX_MAX_KEYLEN bytes.
inline pmix_info_t pmix_info(std::string_view key, pmix_data_type_t type) {
  pmix_info_t info{};
  std::copy(key.begin(), key.end(), std::begin(info.key));
  info.value.type = type;
  return info;
}

inline pmix_info_t pmix_flag(std::string_view key) {
  pmix_info_t info = pmix_info(key, PMIX_BOOL);
  info.value.data.flag = true;
  return info;
}

inline pmix_info_t pmix_text(std::string_view key, std::string& text) {
  pmix_info_t info = pmix_info(key, PMIX_STRING);
  info.value.data.string = text.data();
  return info;
}

inline pmix_info_t pmix_pointer(std::string_view key, void* pointer) {
  pmix_info_t info = pmix_info(key, PMIX_POINTER);
  info.value.data.ptr = pointer;
  return info;
}

inline pmix_info_t pmix_range(pmix_data_range_t range) {
  pmix_info_t info = pmix_info(PMIX_RANGE, PMIX_DATA_RANGE);
  info.value.data.range = range;
  return info;
}

inline pmix_info_t pmix_persistence(pmix_persistence_t persistence) {
  pmix_info_t info = pmix_info(PMIX_PERSISTENCE, PMIX_PERSIST);
  info.value.data.persist = persistence;
  return info;
}

}  // namespace hawser::bootstrap
