// PerformanceSession and PerformanceHandle: what one tool sees of the performance variables
// (MPI-5.0 §15.3.7). Each handle has its own start, stop, reset and value: observers never disturb
// one another, nor the statistics.
//
// A handle of a sum counts from zero, while it is started. A handle of anything else shows the
// number of the process, always.
// Ownership: Ref<T>; a session lists its handles, and a handle knows its session while that lives.
// Threads:   none; the owner locks. A reading of the process is passed in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/object.hpp"
#include "tool/performance_variables.hpp"

namespace hawser::tool {

class PerformanceHandle;

class PerformanceSession final : public core::Object {
 public:
  /// In the order in which they were made.
  [[nodiscard]] const std::vector<PerformanceHandle*>& handles() const { return handles_; }

 private:
  friend class PerformanceHandle;
  std::vector<PerformanceHandle*> handles_;
};

class PerformanceHandle final : public core::Object {
 public:
  /// What the variable's elements are in the process now.
  using Reading = std::span<const std::uint64_t>;

  /// VARIABLE and SESSION outlive the handle, or leave() is called. It is stopped at first.
  PerformanceHandle(const PerformanceVariable& variable, PerformanceSession& session);
  ~PerformanceHandle() override;

  [[nodiscard]] const PerformanceVariable& variable() const { return variable_; }
  /// Null after leave().
  [[nodiscard]] const PerformanceSession* session() const { return session_; }
  /// The session knows it no more.
  void leave();

  /// MPI_T_ERR_PVAR_NO_STARTSTOP for what is no sum. Nothing happens if it is started already.
  base::Result<void> start(Reading now);
  base::Result<void> stop(Reading now);
  /// The value, into as many elements as the variable has.
  void read(Reading now, std::span<std::uint64_t> value) const;
  /// MPI_T_ERR_PVAR_NO_WRITE for what is no sum. It stays started, or stopped.
  base::Result<void> write(Reading now, Reading value);
  base::Result<void> reset(Reading now);
  /// MPI_T_ERR_PVAR_NO_ATOMIC for what is no sum. Value and reset are of one reading: nothing that
  /// happens is in neither.
  base::Result<void> read_and_reset(Reading now, std::span<std::uint64_t> value);

 private:
  [[nodiscard]] base::Error refusal(base::ErrorClass error_class, const char* what) const;

  const PerformanceVariable& variable_;
  PerformanceSession* session_;
  bool started_ = false;
  std::vector<std::uint64_t> kept_;   // what was counted until it was last started, or set
  std::vector<std::uint64_t> since_;  // the process's numbers at that time
};

}  // namespace hawser::tool
