// PerformanceVariables: what a process counts, under names like "channel.ring.bytes_sent": the one
// table from which the statistics report and the tools interface (MPI_T) take their numbers.
//
// A process counts whether anybody looks or not; an entry only says where a number stands.
// Ownership: plain values; a reading borrows the process.
// Threads:   a reading takes the lane lock; the rest is constant.
// Invariant: all numbers are 64 bits without sign. Sums (counter, aggregate) never fall.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/verbosity.hpp"
#include "session/process.hpp"

namespace hawser::tool {

/// What the numbers of a variable mean (MPI-5.0 §15.3.7).
enum class VariableClass : std::uint8_t {
  level,           // how much of something is in use now
  high_watermark,  // the most that ever was
  counter,         // how often something happened
  aggregate        // the sum of something over all times that it happened
};

/// Where the statistics report shows a variable.
enum class ReportSection : std::uint8_t {
  none,
  sent_sizes,
  protocols,
  ledger_current,
  ledger_peak,
  sleeps,
  wakes
};

struct PerformanceVariable {
  using Read = std::function<void(session::Process&, std::span<std::uint64_t>)>;

  std::string name;
  std::string sentence;
  VariableClass variable_class;
  base::Verbosity verbosity;
  Read read;               // fills all elements; called under the lane lock
  std::size_t length = 1;  // elements
  ReportSection section = ReportSection::none;
  std::string report_name = {};  // in its section, where that has several

  /// Grows from event to event: may be started, stopped and set back for one observer. The others
  /// are as they are.
  [[nodiscard]] bool is_sum() const {
    return variable_class == VariableClass::counter || variable_class == VariableClass::aggregate;
  }
};

/// All of them; the accounts of the ledger each as current and peak bytes, in this order.
std::vector<PerformanceVariable> make_performance_variables();

/// The numbers of VARIABLE now, into the `length` elements of NUMBERS; zeros while there is no
/// PROCESS.
void read_variable(const PerformanceVariable& variable, session::Process* process,
                   std::span<std::uint64_t> numbers);

}  // namespace hawser::tool
