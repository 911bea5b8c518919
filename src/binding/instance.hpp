// Instance: the process behind the C binding: made by the first MPI_Init or MPI_Session_init, kept
// until the OS process exits (DESIGN §7: the bootstrap connects once), used by the world model and
// any number of sessions.
//
// Ownership: owned by the Runtime's global; owns settings, bootstrap and Process.
// Threads:   acquire, release and what tools ask for lock; the rest is the Process's.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/parameters.hpp"
#include "binding/runtime.hpp"
#include "bootstrap/bootstrap.hpp"
#include "session/process.hpp"
#include "tool/control_variables.hpp"
#include "tool/performance_variables.hpp"

namespace hawser::binding {

using base::Result;

class Instance final : public Job {
 public:
  static Instance& get();

  /// One more user (the world model or a session), who may call from several threads if THREADED.
  Result<void> acquire(Runtime& runtime, bool threaded);
  /// One user less; the last one has this process send all that it still has to send. MEET: all
  /// processes of the job meet first, as in MPI_Finalize.
  Result<void> release(Runtime& runtime, bool meet);

  [[nodiscard]] session::Process& process() { return *process_; }

  /// Reads file, environment and command line, once; what is wrong with them stays an error.
  Result<void> load_parameters();
  /// All parameters, as tools see them. They are loaded.
  [[nodiscard]] std::vector<tool::ControlVariable> control_variables();
  /// The value now of NAME, a parameter.
  [[nodiscard]] base::ParameterValue parameter(std::string_view name);
  /// Gives NAME, a parameter, a VALUE of its type on behalf of the program.
  Result<void> set_parameter(std::string_view name, const base::ParameterValue& value);

  /// The numbers of VARIABLE now, or when the process was last used; zeros before there is one.
  void read(const tool::PerformanceVariable& variable, std::span<std::uint64_t> numbers);

  /// From now on a tool may look at the process from any thread, at any time. False if that can no
  /// longer be had, because other threads may be in calls that take no lock; CALLER_IS_ALONE: there
  /// are none in calls on behalf of the one user.
  bool let_tools_look(bool caller_is_alone);

  [[noreturn]] void abort(int code, std::string_view sentence) override;
  [[nodiscard]] int world_rank() const override;
  [[nodiscard]] base::Identity identity() const override;

 private:
  Result<void> load();
  Result<void> create(Runtime& runtime);
  /// Called when this OS process exits.
  void report_exit();
  Result<void> write_statistics();

  std::mutex mutex_;
  int users_ = 0;
  session::Settings settings_;
  base::ParameterRegistry registry_;
  std::optional<base::Error> misconfiguration_;
  bool tools_look_ = false;  // from other threads
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::unique_ptr<session::Process> process_;
  std::uint64_t created_ns_ = 0;
  pid_t creator_ = 0;  // which process it was; a child of fork() is another
};

}  // namespace hawser::binding
