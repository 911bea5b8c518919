// Instance: the process behind the C binding: made by the first MPI_Init or MPI_Session_init, kept
// until the OS process exits (DESIGN §7: the bootstrap connects once), used by the world model and
// any number of sessions.
//
// Ownership: owned by the Runtime's global; owns settings, bootstrap and Process.
// Threads:   acquire and release lock; the rest is the Process's.
#pragma once

#include <memory>
#include <mutex>

#include "base/parameters.hpp"
#include "binding/runtime.hpp"
#include "bootstrap/bootstrap.hpp"
#include "session/process.hpp"

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

  [[noreturn]] void abort(int code, std::string_view sentence) override;
  [[nodiscard]] int world_rank() const override;
  [[nodiscard]] base::Identity identity() const override;

 private:
  Result<void> create(Runtime& runtime);
  Result<void> write_statistics();

  std::mutex mutex_;
  int users_ = 0;
  session::Settings settings_;
  base::ParameterRegistry registry_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  std::unique_ptr<session::Process> process_;
  std::uint64_t created_ns_ = 0;
};

}  // namespace hawser::binding
