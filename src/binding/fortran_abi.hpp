// What a Fortran binding told the library about its types (MPI_Abi_set_fortran_*, MPI-5.0 §20.4).
//
// Threads: internally locked.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "core/info/info.hpp"

namespace hawser::binding {

class FortranAbi {
 public:
  static constexpr std::size_t logical_bytes_max = 16;
  [[nodiscard]] static bool is_logical_size(int bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  }

  /// A copy of what was set; null if nothing was.
  [[nodiscard]] base::Ref<core::Info> info() {
    const std::scoped_lock lock(mutex_);
    return info_ ? info_->duplicate() : base::Ref<core::Info>();
  }
  /// False if it was set before.
  bool set_info(const core::Info& info) {
    const std::scoped_lock lock(mutex_);
    if (info_) return false;
    info_ = info.duplicate();
    return true;
  }

  /// The representations of .TRUE. and .FALSE. of LOGICALs with BYTES bytes; false if not set.
  bool booleans(int bytes, void* true_value, void* false_value) {
    const std::scoped_lock lock(mutex_);
    const Booleans& known = booleans_[index_of(bytes)];
    if (!known.is_set) return false;
    std::memcpy(true_value, known.true_value.data(), static_cast<std::size_t>(bytes));
    std::memcpy(false_value, known.false_value.data(), static_cast<std::size_t>(bytes));
    return true;
  }
  /// False if they were set before.
  bool set_booleans(int bytes, const void* true_value, const void* false_value) {
    const std::scoped_lock lock(mutex_);
    Booleans& known = booleans_[index_of(bytes)];
    if (known.is_set) return false;
    std::memcpy(known.true_value.data(), true_value, static_cast<std::size_t>(bytes));
    std::memcpy(known.false_value.data(), false_value, static_cast<std::size_t>(bytes));
    known.is_set = true;
    return true;
  }

 private:
  struct Booleans {
    bool is_set = false;
    std::array<std::byte, logical_bytes_max> true_value{};
    std::array<std::byte, logical_bytes_max> false_value{};
  };
  [[nodiscard]] static std::size_t index_of(int bytes) {
    std::size_t index = 0;
    while ((1 << index) < bytes) ++index;
    return index;
  }

  std::mutex mutex_;
  base::Ref<core::Info> info_;
  std::array<Booleans, 5> booleans_;
};

}  // namespace hawser::binding
