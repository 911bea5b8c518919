#include "session/bootstrap_choice.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "bootstrap/local/local_bootstrap.hpp"
#include "bootstrap/managed_bootstrap.hpp"
#include "bootstrap/pmi/pmi_manager.hpp"
#include "bootstrap/pmix/pmix_manager.hpp"
#include "bootstrap/variables.hpp"

namespace hawser::session {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// srun sets it for the processes of a step; a batch script's shell does not have it.
constexpr const char* slurm_tasks_variable = "SLURM_STEP_NUM_TASKS";

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

int read_slurm_tasks() {
  const char* const tasks = std::getenv(slurm_tasks_variable);
  if (tasks == nullptr || !is_set("SLURM_PROCID") || !is_set("SLURM_STEP_ID")) return 0;
  const auto number = bootstrap::parse_variable(slurm_tasks_variable, tasks);
  return number ? static_cast<int>(*number) : 0;
}

Error not_offered(std::string_view wanted, std::string_view missing, std::string_view cure) {
  return {ErrorClass::other,
          fmt::format("bootstrap={}, but {} is not in the environment; {}", wanted, missing, cure)};
}

Error nobody_finds_another(int tasks) {
  return {ErrorClass::other,
          fmt::format("srun started {} processes and gave them no way to find each other; use "
                      "srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list tells which there are), "
                      "or set HAWSER_BOOTSTRAP=none if each is a job of its own",
                      tasks)};
}

Result<std::unique_ptr<bootstrap::Bootstrap>> connect(BootstrapKind kind) {
  using bootstrap::LocalBootstrap;
  if (kind == BootstrapKind::local) return LocalBootstrap::connect();
  if (kind == BootstrapKind::alone) return LocalBootstrap::singleton();
  auto manager = kind == BootstrapKind::pmix ? bootstrap::PmixManager::connect()
                                             : bootstrap::PmiManager::connect();
  if (!manager) return manager.take_error();
  return bootstrap::ManagedBootstrap::connect(std::move(*manager));
}

}  // namespace

LauncherMarks read_launcher_marks() {
  return {.local = is_set(bootstrap::job_fd_variable) || is_set(bootstrap::job_index_variable),
          .pmix = is_set(bootstrap::pmix_job_variable) &&
                  bootstrap::has_variables(bootstrap::pmix_server_prefix),
          .pmi = is_set(bootstrap::pmi_fd_variable),
          .slurm_tasks = read_slurm_tasks()};
}

Result<BootstrapKind> choose_bootstrap(std::string_view wanted, const LauncherMarks& marks) {
  if (wanted == "none") return BootstrapKind::alone;
  if (wanted == "local" && !marks.local)
    return not_offered(wanted, bootstrap::job_fd_variable, "start the program by Hawser's mpirun");
  if (wanted == "pmix" && !marks.pmix)
    return not_offered(wanted, bootstrap::pmix_job_variable,
                       "start the program by a launcher that offers PMIx (srun --mpi=pmix)");
  if (wanted == "pmi" && !marks.pmi)
    return not_offered(wanted, bootstrap::pmi_fd_variable,
                       "start the program by a launcher that offers PMI-1 (srun --mpi=pmi2)");
  const bool any = wanted == "auto";
  if (marks.local && (any || wanted == "local")) return BootstrapKind::local;
  if (marks.pmix && (any || wanted == "pmix")) return BootstrapKind::pmix;
  if (marks.pmi && (any || wanted == "pmi")) return BootstrapKind::pmi;
  if (marks.slurm_tasks > 1) return nobody_finds_another(marks.slurm_tasks);
  return BootstrapKind::alone;
}

Result<std::unique_ptr<bootstrap::Bootstrap>> connect_bootstrap(std::string_view wanted) {
  const Result<BootstrapKind> kind = choose_bootstrap(wanted, read_launcher_marks());
  if (!kind) return kind.error();
  auto connected = connect(*kind);
  // A program that this process starts is no task of the step.
  if (connected && *kind != BootstrapKind::alone) bootstrap::take_variable(slurm_tasks_variable);
  return connected;
}

}  // namespace hawser::session
