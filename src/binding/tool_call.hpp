// ToolCall: one call of a function of the tools interface (MPI_T), from the check of its arguments
// to its return code. Nothing is raised: such a function calls no error handler (MPI-5.0 §15.3.10).
//
// A generated binding makes one, has it check and convert every argument, makes one call into
// hawser::calls unless something failed, and returns finish(). The first failed check counts; after
// it the others may be given null objects and look at nothing.
// Threads: it holds the lock of the interface for its life.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "binding/arguments.hpp"
#include "binding/call.hpp"
#include "binding/tool_handles.hpp"
#include "binding/tools.hpp"

namespace hawser::binding {

/// A string result with its length: the user's room in, the length with the final zero out. Each of
/// the two may be null (§15.3.3).
class ToolText {
 public:
  ToolText(char* where, int* length) : where_(where), length_(length) {}
  void set(std::string_view text) const {
    if (length_ == nullptr) return;
    if (where_ != nullptr && *length_ > 0) StringOut(where_, *length_).set(text);
    *length_ = static_cast<int>(text.size()) + 1;
  }

 private:
  char* where_;
  int* length_;
};

/// A result that a null pointer drops.
template <class T>
class OptionalOut {
 public:
  explicit OptionalOut(T* where) : where_(where) {}
  void set(T value) const {
    if (where_ != nullptr) *where_ = value;
  }

 private:
  T* where_;
};

/// One handle; or, for MPI_T_PVAR_ALL_HANDLES, those of a session that can be started and set back.
using PerformanceHandles = std::vector<tool::PerformanceHandle*>;

class ToolCall {
 public:
  explicit ToolCall(Needs needs = Needs::running) : tools_(Tools::get()), lock_(tools_.mutex()) {
    if (needs == Needs::running && !tools_.is_initialized()) fail(ErrorClass::t_not_initialized);
  }

  [[nodiscard]] Tools& tools() const { return tools_; }
  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] bool failed() const { return code_ != ErrorClass::success; }
  [[nodiscard]] int code() const { return static_cast<int>(code_); }
  [[nodiscard]] static int finish(const Result<void>& result) {
    return result.ok() ? MPI_SUCCESS : result.error().code();
  }
  /// For a function that has nothing to work on, whatever its arguments are.
  int refuse(ErrorClass error_class) {
    fail(error_class);
    return code();
  }

  /// Memory that the function reads or writes.
  void output(const void* pointer) {
    if (pointer == nullptr) fail(ErrorClass::t_invalid);
  }
  void array(const int* first, int length) {
    if (length < 0 || (first == nullptr && length > 0)) fail(ErrorClass::t_invalid);
  }

  /// The object of a live handle, or null after a failed check.
  template <class T>
  T* object(typename HandleTraits<T>::c_type handle) {
    T* const found = runtime_.find<T>(handle);
    if (found == nullptr) fail(HandleTraits<T>::wrong);
    return found;
  }
  /// The same; it must belong to SESSION, which is null after a failed check.
  template <class T>
  T* object(MPI_T_pvar_handle handle, const tool::PerformanceSession* session) {
    T* const found = object<T>(handle);
    if (found != nullptr && found->session() != session) fail(HandleTraits<T>::wrong);
    return found;
  }
  /// *WHERE is a live handle.
  template <class T>
  void live(const typename HandleTraits<T>::c_type* where) {
    output(where);
    if (where != nullptr) object<T>(*where);
  }
  template <class T>
  void live(const MPI_T_pvar_handle* where, const tool::PerformanceSession* session) {
    output(where);
    if (where != nullptr) object<T>(*where, session);
  }
  PerformanceHandles handles(MPI_T_pvar_handle handle, const tool::PerformanceSession* session);

 private:
  void fail(ErrorClass error_class) {
    if (code_ == ErrorClass::success) code_ = error_class;
  }

  Tools& tools_;
  Runtime& runtime_ = Runtime::get();
  const std::lock_guard<std::mutex> lock_;
  ErrorClass code_ = ErrorClass::success;
};

/// Gives OBJECT a handle at WHERE; FULL is the error where there are no more.
template <class T>
Result<void> show_at(Ref<T> object, typename HandleTraits<T>::c_type& where, ErrorClass full) {
  where = Runtime::get().show<T>(std::move(object));
  if (where == null_handle<T>()) return base::Error(full, "too many of them are in use");
  return {};
}

}  // namespace hawser::binding
