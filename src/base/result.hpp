// Result<T>: a value, or an Error that says what went wrong in one sentence.
//
// Purpose:   the only way the library reports that the world refused something. Bugs are asserted.
// Ownership: an Error owns its text; success costs one null pointer, failure one allocation.
// Threads:   values; no sharing.
// Invariant: an Error's code is never ErrorClass::success.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace hawser::base {

/// Error classes with the numbers of the MPI standard ABI (MPI-5.0, chapter 20).
enum class ErrorClass : int {
  success = 0,
  buffer = 1,
  count = 2,
  type = 3,
  tag = 4,
  comm = 5,
  rank = 6,
  request = 7,
  root = 8,
  group = 9,
  op = 10,
  topology = 11,
  dims = 12,
  arg = 13,
  unknown = 14,
  truncate = 15,
  other = 16,
  intern = 17,
  pending = 18,
  in_status = 19,
  access = 20,
  assertion = 22,
  conversion = 25,
  info_key = 31,
  info_nokey = 32,
  info_value = 33,
  info = 34,
  keyval = 36,
  name = 38,
  no_mem = 39,
  port = 43,
  service = 51,
  size = 52,
  spawn = 53,
  unsupported_operation = 55,
  win = 56,
  value_too_large = 59,
  session = 60,
  errhandler = 61,
  file = 30,
  abi = 62,
  // Of the tools interface, whose functions return them and raise nothing.
  t_cannot_init = 1001,
  t_not_initialized = 1003,
  t_invalid = 1006,
  t_invalid_index = 1007,
  t_invalid_session = 1009,
  t_invalid_handle = 1010,
  t_invalid_name = 1011,
  t_out_of_handles = 1012,
  t_out_of_sessions = 1013,
  t_cvar_set_not_now = 1014,
  t_pvar_no_write = 1016,
  t_pvar_no_startstop = 1017,
  t_pvar_no_atomic = 1018,
  // Of user-level failure mitigation (mpi-ext.h): above the classes of the ABI, below those that
  // programs add.
  proc_failed = 2001,
  proc_failed_pending = 2002,
  revoked = 2003,
};

/// What went wrong: an MPI error code (a class of the standard or one that the user added) and one
/// sentence with the value that was refused and what would be right.
class [[nodiscard]] Error {
 public:
  Error(ErrorClass error_class, std::string sentence)
      : code_(static_cast<int>(error_class)), sentence_(std::move(sentence)) {}

  /// An error code that the user made with MPI_Add_error_code, or that a user's callback returned.
  static Error from_code(int code, std::string sentence) {
    return Error(code, std::move(sentence));
  }

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  Error(int code, std::string sentence) : code_(code), sentence_(std::move(sentence)) {}

  int code_;
  std::string sentence_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return *value_; }
  [[nodiscard]] const T& value() const& { return *value_; }
  [[nodiscard]] T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  [[nodiscard]] const Error& error() const { return *error_; }
  /// Moves the error out, to be returned by the caller as its own.
  [[nodiscard]] Error take_error() { return std::move(*error_); }

 private:
  std::optional<T> value_;
  std::unique_ptr<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return *error_; }
  [[nodiscard]] Error take_error() { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace hawser::base

/// Returns the error of EXPRESSION (a Result) from the enclosing function, if it has one.
#define HAWSER_TRY(expression)                \
  do {                                        \
    auto hawser_try_result = (expression);    \
    if (!hawser_try_result.ok()) [[unlikely]] \
      return hawser_try_result.take_error();  \
  } while (false)
