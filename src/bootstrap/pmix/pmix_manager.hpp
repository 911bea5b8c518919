// PmixManager: a launcher that offers PMIx: PRRTE's prterun, Open MPI's mpirun, Slurm with
// --mpi=pmix, Flux.
//
// Ownership: owns the connection of the process to its PMIx server, of which there is one.
// Threads:   as ProcessManager. The library has a thread of its own, on which the end of a barrier
// is
//            told; no signal is delivered to it.
// Invariant: exchanges move nothing but the news that all are there; what somebody has put is
// fetched
//            from its server when it is asked for.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "bootstrap/pmix/job_ends.hpp"
#include "bootstrap/pmix/library.hpp"
#include "bootstrap/process_manager.hpp"
#include "platform/file.hpp"

namespace hawser::bootstrap {

/// What tells that there is such a launcher, with a variable that begins like the second.
inline constexpr const char* pmix_job_variable = "PMIX_NAMESPACE";
inline constexpr const char* pmix_server_prefix = "PMIX_SERVER_URI";

class PmixManager final : public ProcessManager {
 public:
  /// The launcher that the environment names; its variables are taken out of it.
  static base::Result<std::unique_ptr<ProcessManager>> connect();

  [[nodiscard]] const ManagedJob& job() const override { return job_; }
  base::Result<void> put(std::string_view key, std::string_view text) override;
  base::Result<void> exchange() override;
  base::Result<std::optional<std::string>> get(std::uint32_t rank, std::string_view key) override;
  base::Result<void> start_barrier() override;
  base::Result<bool> is_barrier_done() override;
  [[nodiscard]] int descriptor() const override { return barrier_->event.get(); }
  base::Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) override;
  // Names are those of the launcher's session: its PMIx server keeps them, for processes of this
  // user.
  base::Result<void> publish_name(std::string_view service, std::string_view port) override;
  base::Result<std::string> look_up_name(std::string_view service) override;
  base::Result<void> unpublish_name(std::string_view service) override;
  base::Result<void> finalize() override;
  [[noreturn]] void abort(int code, std::string_view sentence) override;

 private:
  /// What the library's thread tells of a barrier. Never freed: it may tell late.
  struct Barrier {
    platform::FileDescriptor event;
    std::atomic<bool> is_done = false;
    std::atomic<pmix_status_t> status = PMIX_SUCCESS;
  };

  class PmixSpawning;

  PmixManager(const PmixLibrary& library, const pmix_proc_t& self, Barrier* barrier);
  static void on_barrier(pmix_status_t status, void* barrier);
  base::Result<void> learn_job();
  /// The value under KEY of RANK, or of the whole job (PMIX_RANK_WILDCARD), as it is told to VISIT;
  /// false if there is none.
  template <class Visit>
  base::Result<bool> visit_value(pmix_rank_t rank, const char* key, Visit&& visit) const;
  [[nodiscard]] base::Result<std::optional<std::uint32_t>> number(pmix_rank_t rank,
                                                                  const char* key) const;
  [[nodiscard]] base::Result<std::optional<std::string>> text(pmix_rank_t rank,
                                                              const char* key) const;
  [[nodiscard]] base::Error failed(const char* function, pmix_status_t status) const;
  /// The same, or that the launcher offers no way to WHAT.
  [[nodiscard]] base::Error failed(const char* function, pmix_status_t status,
                                   base::ErrorClass error_class, std::string_view what) const;
  /// Under which a name is published. ERROR_CLASS if it is too long.
  [[nodiscard]] base::Result<std::string> key_of_name(std::string_view service,
                                                      base::ErrorClass error_class) const;
  /// From the first spawn on, hears of jobs that end.
  base::Result<void> listen_for_ends();

  const PmixLibrary library_;
  const pmix_proc_t self_;
  Barrier* const barrier_;
  PmixJobEnds* ends_ = nullptr;  // never freed: the library's thread may tell late
  ManagedJob job_;
};

}  // namespace hawser::bootstrap
