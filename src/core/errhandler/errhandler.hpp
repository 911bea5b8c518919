// Error handlers, and the table of error classes, codes and strings (MPI-5.0 §9.3 to §9.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/object.hpp"

namespace hawser::core {

enum class ErrhandlerKind : std::uint8_t {
  errors_are_fatal,
  errors_abort,
  errors_return,
  comm,
  win,
  file,
  session,
};

class Errhandler : public Object {
 public:
  /// OBJECT: the communicator, window, file or session on which the error was raised.
  using Function = std::function<void(Object& object, int code)>;

  explicit Errhandler(ErrhandlerKind kind, Function function = {})
      : kind_(kind), function_(std::move(function)) {}
  [[nodiscard]] ErrhandlerKind kind() const { return kind_; }
  [[nodiscard]] bool is_predefined() const { return kind_ <= ErrhandlerKind::errors_return; }
  [[nodiscard]] const Function& function() const { return function_; }

 private:
  ErrhandlerKind kind_;
  Function function_;
};

/// Error classes, codes and their strings: those of the standard, and those that users add and
/// remove (MPI_Add_error_*, MPI_Remove_error_*). User-made classes and codes are above
/// MPI_ERR_LASTCODE. One per OS process; internally locked.
class ErrorTable {
 public:
  static constexpr int last_standard_code = 16383;
  static constexpr std::size_t string_bytes_max = 511;

  ErrorTable();
  ~ErrorTable();

  /// Every refusal is MPI_ERR_ARG. Numbers are never reused. What still has codes or a string
  /// cannot be removed.
  int add_class();
  Result<int> add_code(int error_class);
  Result<void> add_string(int code, std::string_view text);
  Result<void> remove_class(int error_class);
  Result<void> remove_code(int code);
  Result<void> remove_string(int code);
  /// The class of CODE; MPI_ERR_ARG if there is no such code.
  Result<int> class_of(int code) const;
  /// Empty for a user-made code without a string.
  Result<std::string> string_of(int code) const;
  /// MPI_LASTUSEDCODE: the largest number handed out so far; removing does not shrink it.
  [[nodiscard]] int last_used_code() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hawser::core
