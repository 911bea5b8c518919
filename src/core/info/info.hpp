// Info objects: ordered (key, value) strings (MPI-5.0 §10).
//
// Keys are 1 to 255 bytes, values at most 1023 bytes; both are kept as given (only the Fortran
// binding strips blanks, before it comes here). Order of keys is the order of first insertion.
// Ownership: views that get() and key() return are valid until the next set() or erase().
// Threads:   guarded by the user, as the standard demands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object.hpp"

namespace hawser::core {

class Info : public Object {
 public:
  static constexpr std::size_t key_bytes_max = 255;
  static constexpr std::size_t value_bytes_max = 1023;

  /// MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE.
  Result<void> set(std::string_view key, std::string_view value);
  /// MPI_ERR_INFO_NOKEY if there is no such key.
  Result<void> erase(std::string_view key);
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
  [[nodiscard]] int size() const { return static_cast<int>(entries_.size()); }
  /// The key at INDEX; MPI_ERR_ARG unless it is in [0, size()).
  Result<std::string_view> key(int index) const;
  [[nodiscard]] Ref<Info> duplicate() const;

 private:
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace hawser::core
