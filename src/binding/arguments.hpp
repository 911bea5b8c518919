// How C arguments look to the calls: views of the user's arrays, and places to put results in.
//
// Ownership: all of these borrow the user's memory for one call; none copies an array.
// Invariant: the generated binding has checked handles and null pointers before it makes one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "binding/runtime.hpp"
#include "binding/status.hpp"
#include "collective/arguments.hpp"

namespace hawser::binding {

using base::Count;

/// Counts or displacements: `int` in a small-count call, 64 bits in a large-count one.
class CountArray {
 public:
  CountArray() = default;
  CountArray(const int* data, Count length) : small_(data), length_(length) {}
  CountArray(const std::int64_t* data, Count length) : large_(data), length_(length) {}

  [[nodiscard]] Count operator[](Count i) const {
    return large_ != nullptr ? large_[i] : Count{small_[i]};
  }
  [[nodiscard]] Count size() const { return length_; }
  [[nodiscard]] bool is_null() const { return small_ == nullptr && large_ == nullptr; }
  /// As the collectives take them.
  [[nodiscard]] collective::CountView view() const {
    if (large_ != nullptr) return {large_, true};
    return {small_, false};
  }
  [[nodiscard]] std::vector<Count> to_vector() const {
    std::vector<Count> all(static_cast<std::size_t>(length_));
    for (Count i = 0; i < length_; ++i) all[static_cast<std::size_t>(i)] = (*this)[i];
    return all;
  }

 private:
  const int* small_ = nullptr;
  const std::int64_t* large_ = nullptr;
  Count length_ = 0;
};

/// A count that the call returns, or changes. In a small-count call a value that does not fit
/// becomes MPI_UNDEFINED.
class CountOut {
 public:
  CountOut() = default;  // for a result that the small-count variant lacks: dropped
  explicit CountOut(int* where) : small_(where) {}
  explicit CountOut(std::int64_t* where) : large_(where) {}

  [[nodiscard]] Count get() const { return large_ != nullptr ? *large_ : Count{*small_}; }
  void set(Count value) const {
    if (large_ != nullptr) *large_ = value;
    if (small_ != nullptr) *small_ = fits(value) ? static_cast<int>(value) : MPI_UNDEFINED;
  }
  /// Whether set(VALUE) keeps it.
  [[nodiscard]] bool holds(Count value) const { return small_ == nullptr || fits(value); }

 private:
  [[nodiscard]] static bool fits(Count value) {
    return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
  }
  int* small_ = nullptr;
  std::int64_t* large_ = nullptr;
};

/// A character array of the user with room for `capacity` bytes, the final zero included.
class StringOut {
 public:
  StringOut(char* where, Count capacity)
      : where_(where), capacity_(static_cast<std::size_t>(capacity)) {}
  /// Copies as much as there is room for; returns the length without the zero.
  int set(std::string_view text) const {
    if (capacity_ == 0) return 0;
    const std::size_t bytes = std::min(text.size(), capacity_ - 1);
    std::copy_n(text.data(), bytes, where_);
    where_[bytes] = '\0';
    return static_cast<int>(bytes);
  }
  /// For calls whose room is another argument.
  [[nodiscard]] StringOut with_capacity(Count capacity) const { return {where_, capacity}; }

 private:
  char* where_;
  std::size_t capacity_;
};

/// MPI_STATUS_IGNORE is a place that drops what is put there.
class StatusOut {
 public:
  explicit StatusOut(MPI_Status* where) : where_(where) {}
  [[nodiscard]] bool is_ignored() const { return where_ == nullptr; }
  void set(const core::Status& status) const {
    if (where_ != nullptr) write_status(status, *where_);
  }

 private:
  MPI_Status* where_;
};

/// A status that the call reads and changes (MPI_Status_set_*).
class StatusInOut {
 public:
  explicit StatusInOut(MPI_Status* where) : where_(where) {}
  [[nodiscard]] core::Status get() const { return read_status(*where_); }
  void set(const core::Status& status) const {
    write_status(status, *where_);
    where_->MPI_ERROR = status.error;
  }

 private:
  MPI_Status* where_;
};

/// MPI_STATUSES_IGNORE is an array that drops what is put there.
class StatusArray {
 public:
  explicit StatusArray(MPI_Status* first) : first_(first) {}
  [[nodiscard]] bool is_ignored() const { return first_ == nullptr; }
  void set(Count i, const core::Status& status) const {
    if (first_ != nullptr) write_status(status, first_[i]);
  }
  /// MPI_ERROR: for a call that returns MPI_ERR_IN_STATUS.
  void set_error(Count i, int code) const {
    if (first_ != nullptr) first_[i].MPI_ERROR = code;
  }

 private:
  MPI_Status* first_;
};

/// Where the handle of an object that the call makes goes.
template <class T>
class HandleOut {
 public:
  using c_type = typename HandleTraits<T>::c_type;
  HandleOut(Runtime& runtime, c_type* where) : runtime_(&runtime), where_(where) {}
  /// Null gives the null handle.
  [[gnu::always_inline]] void set(Ref<T> object) const {
    *where_ = runtime_->show<T>(std::move(object));
  }
  void set_predefined(c_type handle) const { *where_ = handle; }

 private:
  Runtime* runtime_;
  c_type* where_;
};

/// An array of them.
template <class T>
class HandleOutArray {
 public:
  using c_type = typename HandleTraits<T>::c_type;
  HandleOutArray(Runtime& runtime, c_type* first, Count length)
      : runtime_(&runtime), first_(first), length_(length) {}
  [[nodiscard]] Count size() const { return length_; }
  void set(Count i, Ref<T> object) const { first_[i] = runtime_->show<T>(std::move(object)); }

 private:
  Runtime* runtime_;
  c_type* first_;
  Count length_;
};

/// Ends HANDLE, makes it the null handle, and returns the reference that it owned.
template <class T>
Ref<T> take_handle(Runtime& runtime, typename HandleTraits<T>::c_type& handle) {
  Ref<core::Object> reference = runtime.table<T>().erase(raw_handle(handle));
  handle = null_handle<T>();
  return Ref<T>::adopt(static_cast<T*>(reference.leak()));
}

/// A handle that the call uses and may take away (MPI_Comm_free, MPI_Wait).
template <class T>
class HandleInOut {
 public:
  using c_type = typename HandleTraits<T>::c_type;
  HandleInOut(Runtime& runtime, c_type* where)
      : runtime_(&runtime), where_(where), object_(runtime.find<T>(*where)) {}
  /// Null for the null handle, where the function allows that.
  [[nodiscard]] T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  [[nodiscard]] c_type handle() const { return *where_; }
  [[nodiscard]] bool is_predefined() const { return raw_handle(*where_) < predefined_end; }
  /// The user's variable becomes the null handle.
  Ref<T> take() const { return take_handle<T>(*runtime_, *where_); }

 private:
  Runtime* runtime_;
  c_type* where_;
  T* object_;
};

/// Handles that the call only looks at; null where the handle is null.
template <class T>
class HandleArray {
 public:
  using c_type = typename HandleTraits<T>::c_type;
  HandleArray() = default;
  HandleArray(Runtime& runtime, const c_type* first, Count length)
      : runtime_(&runtime), first_(first), length_(length) {}
  [[nodiscard]] Count size() const { return length_; }
  [[nodiscard]] T* operator[](Count i) const { return runtime_->find<T>(first_[i]); }

 private:
  Runtime* runtime_ = nullptr;
  const c_type* first_ = nullptr;
  Count length_ = 0;
};

/// The requests of MPI_Waitall and its relatives: handles, which the call may take away, and the
/// objects behind them.
class RequestArray {
 public:
  RequestArray(Runtime& runtime, core::Object** blamed, MPI_Request* first,
               std::vector<core::Request*> objects)
      : runtime_(&runtime), blamed_(blamed), first_(first), objects_(std::move(objects)) {}
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  /// Null where the handle is null. Whoever hands a request out makes its place null.
  [[nodiscard]] std::span<core::Request*> objects() { return objects_; }
  /// Forgets OBJECT, a pinned one, wherever it stands.
  void drop(const core::Request& object) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i] != &object) continue;
      objects_[i] = nullptr;
      first_[i] = MPI_REQUEST_NULL;
    }
  }
  /// The handles of what was handed out go too.
  void take_handed_out() const {
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (objects_[i] == nullptr && first_[i] != MPI_REQUEST_NULL)
        take_handle<core::Request>(*runtime_, first_[i]);
  }
  /// An error of this call is raised on the object that request I belongs to.
  void blame(int i) const {
    const core::Request* const request = runtime_->find<core::Request>(first_[i]);
    if (request != nullptr) *blamed_ = request->error_object();
  }

 private:
  Runtime* runtime_;
  core::Object** blamed_;
  MPI_Request* first_;
  std::vector<core::Request*> objects_;
};

template <class E>
std::span<E> to_span(E* first, Count length) {
  return {first, static_cast<std::size_t>(length)};
}

/// The (first, last, stride) triples of MPI_Group_range_incl.
inline std::span<const core::Group::Range> to_ranges(const int (*first)[3], Count length) {
  static_assert(sizeof(core::Group::Range) == sizeof(int[3]));
  return {reinterpret_cast<const core::Group::Range*>(first), static_cast<std::size_t>(length)};
}

}  // namespace hawser::binding
