// Tools: the tools interface (MPI_T) of this OS process: how often it is initialised, and the lists
// of what it shows (MPI-5.0 §15.3). It lives apart from MPI: before, during and after.
//
// Ownership: one global of the binding, never destroyed. The lists are made by the first
//            initialisation and stay: indices and handles into them stay right.
// Threads:   its mutex is held during every call of the interface (ToolCall), so that the interface
//            is thread-safe whatever was asked for. It is taken before any other lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "binding/runtime.hpp"
#include "tool/categories.hpp"
#include "tool/control_variables.hpp"
#include "tool/performance_variables.hpp"

namespace hawser::binding {

using base::Result;

class Tools {
 public:
  static Tools& get();

  [[nodiscard]] std::mutex& mutex() { return mutex_; }

  /// One more initialisation; returns the thread level that is provided of REQUIRED.
  /// MPI_T_ERR_CANNOT_INIT if the configuration is wrong (MPI_Init says how).
  Result<int> begin(int required);
  /// One initialisation less.
  void end() { --users_; }
  [[nodiscard]] bool is_initialized() const { return users_ > 0; }

  [[nodiscard]] const std::vector<tool::ControlVariable>& controls() const { return controls_; }
  [[nodiscard]] const std::vector<tool::PerformanceVariable>& performances() const {
    return performances_;
  }
  [[nodiscard]] const std::vector<tool::Category>& categories() const { return categories_; }

  /// What VARIABLE counts in the process now, or counted last; zeros before there is one.
  [[nodiscard]] static std::vector<std::uint64_t> read(const tool::PerformanceVariable& variable);

 private:
  Result<void> make_lists();

  std::mutex mutex_;
  int users_ = 0;
  std::vector<tool::ControlVariable> controls_;
  std::vector<tool::PerformanceVariable> performances_;
  std::vector<tool::Category> categories_;
};

}  // namespace hawser::binding
