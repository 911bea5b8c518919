#include "bootstrap/pmix/pmix_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bootstrap/pmix/infos.hpp"
#include "bootstrap/pmix/rank_list.hpp"
#include "bootstrap/variables.hpp"
#include "platform/event.hpp"
#include "platform/this_process.hpp"
#include "platform/thread.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// PMIx itself has no limit.
constexpr std::size_t text_bytes_max = 16384;

std::string full_key(std::string_view key) { return fmt::format("hawser.{}", key); }

/// The fence leaves with each server what all processes have put. To fetch it process by process
/// when somebody asks would be less, but between servers of Slurm 22.05 that fails.
pmix_info_t collect_data() { return pmix_flag(PMIX_COLLECT_DATA); }

/// Slurm's plugin does not say who it is.
const char* unnamed_launcher() {
  return std::getenv("SLURM_STEP_ID") == nullptr ? "a launcher" : "Slurm";
}

/// So that a program which this process starts is a job of its own.
void clear_environment() {
  take_variable(pmix_job_variable);
  take_variable("PMIX_RANK");
  take_variables(pmix_server_prefix);
}

/// The library's thread inherits the signals of the thread that starts it.
pmix_status_t initialize(const PmixLibrary& library, pmix_proc_t& self) {
  pmix_status_t status = PMIX_ERROR;
  platform::quiet_thread([&] { status = library.init(&self, nullptr, 0); }).join();
  return status;
}

}  // namespace

Result<std::unique_ptr<ProcessManager>> PmixManager::connect() {
  const Result<PmixLibrary> library = PmixLibrary::open();
  if (!library) return library.error();
  auto event = platform::make_event();
  if (!event) return event.take_error();
  pmix_proc_t self{};
  const pmix_status_t status = initialize(*library, self);
  clear_environment();
  if (status != PMIX_SUCCESS)
    return Error(ErrorClass::other,
                 fmt::format("PMIx_Init of {} cannot reach the launcher's PMIx server: {}",
                             library->version_text(), library->error_text(status)));
  auto* const barrier = new Barrier{.event = *std::move(event)};  // NOLINT: see its comment
  std::unique_ptr<PmixManager> manager(new PmixManager(*library, self, barrier));
  HAWSER_TRY(manager->learn_job());
  return std::unique_ptr<ProcessManager>(std::move(manager));
}

PmixManager::PmixManager(const PmixLibrary& library, const pmix_proc_t& self, Barrier* barrier)
    : library_(library), self_(self), barrier_(barrier) {
  job_.rank = self.rank;
  job_.name.assign(self.nspace, ::strnlen(self.nspace, sizeof(self.nspace)));
  job_.claimed_local = {self.rank};
  job_.value_bytes_max = text_bytes_max;
  job_.launcher = "PMIx";
}

Error PmixManager::failed(const char* function, pmix_status_t status) const {
  return {ErrorClass::other, fmt::format("{} in job {} of {}: {}", function, job_.name,
                                         job_.launcher, library_.error_text(status))};
}

Result<void> PmixManager::learn_job() {
  const auto manager = text(PMIX_RANK_WILDCARD, PMIX_RM_NAME);
  if (!manager) return manager.error();
  job_.launcher =
      fmt::format("{} ({})", manager->value_or(unnamed_launcher()), library_.version_text());
  const auto size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  if (!size) return size.error();
  if (!*size) return failed("PMIx_Get of the job's size", PMIX_ERR_NOT_FOUND);
  job_.size = **size;
  const auto universe = number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE);
  if (!universe) return universe.error();
  job_.universe_size =
      static_cast<int>(std::min<std::uint32_t>(universe->value_or(job_.size), INT32_MAX));
  const auto app = number(self_.rank, PMIX_APPNUM);
  if (!app) return app.error();
  job_.app_number = static_cast<int>(std::min<std::uint32_t>(app->value_or(0), INT32_MAX));
  const auto peers = text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
  if (!peers) return peers.error();
  // Who is told nothing is alone.
  if (const auto ranks = parse_rank_list(peers->value_or(""))) job_.claimed_local = *ranks;
  return {};
}

template <class Visit>
Result<bool> PmixManager::visit_value(pmix_rank_t rank, const char* key, Visit&& visit) const {
  pmix_proc_t process = self_;
  process.rank = rank;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = library_.get(&process, key, nullptr, 0, &value);
  if (status == PMIX_ERR_NOT_FOUND) return false;
  if (status != PMIX_SUCCESS || value == nullptr) return failed("PMIx_Get", status);
  visit(*value);
  library_.destroy_value(value);
  std::free(value);  // NOLINT: the library's, from malloc
  return true;
}

Result<std::optional<std::uint32_t>> PmixManager::number(pmix_rank_t rank, const char* key) const {
  std::optional<std::uint32_t> found;
  const auto done = visit_value(rank, key, [&](const pmix_value_t& value) {
    if (value.type == PMIX_UINT32) found = value.data.uint32;
  });
  if (!done) return done.error();
  return found;
}

Result<std::optional<std::string>> PmixManager::text(pmix_rank_t rank, const char* key) const {
  std::optional<std::string> found;
  const auto done = visit_value(rank, key, [&](const pmix_value_t& value) {
    if (value.type == PMIX_STRING && value.data.string != nullptr) found = value.data.string;
  });
  if (!done) return done.error();
  return found;
}

Result<void> PmixManager::put(std::string_view key, std::string_view text) {
  std::string copy(text);
  pmix_value_t value{};
  value.type = PMIX_STRING;
  value.data.string = copy.data();
  const pmix_status_t status = library_.put(PMIX_GLOBAL, full_key(key).c_str(), &value);
  if (status != PMIX_SUCCESS) return failed("PMIx_Put", status);
  return {};
}

Result<void> PmixManager::exchange() {
  pmix_status_t status = library_.commit();
  if (status != PMIX_SUCCESS) return failed("PMIx_Commit", status);
  const pmix_info_t collect = collect_data();
  status = library_.fence(nullptr, 0, &collect, 1);
  if (status != PMIX_SUCCESS) return failed("PMIx_Fence", status);
  return {};
}

Result<std::optional<std::string>> PmixManager::get(std::uint32_t rank, std::string_view key) {
  return text(rank, full_key(key).c_str());
}

void PmixManager::on_barrier(pmix_status_t status, void* barrier) {
  auto* const told = static_cast<Barrier*>(barrier);
  told->status.store(status, std::memory_order_relaxed);
  told->is_done.store(true, std::memory_order_release);
  platform::signal_event(told->event);
}

Result<void> PmixManager::start_barrier() {
  const pmix_status_t status =
      library_.start_fence(nullptr, 0, nullptr, 0, &PmixManager::on_barrier, barrier_);
  if (status == PMIX_OPERATION_SUCCEEDED) {
    on_barrier(PMIX_SUCCESS, barrier_);
    return {};
  }
  if (status != PMIX_SUCCESS) return failed("PMIx_Fence_nb", status);
  return {};
}

Result<bool> PmixManager::is_barrier_done() {
  if (!barrier_->is_done.load(std::memory_order_acquire)) return false;
  platform::clear_event(barrier_->event);
  const pmix_status_t status = barrier_->status.load(std::memory_order_relaxed);
  if (status != PMIX_SUCCESS) return failed("PMIx_Fence_nb", status);
  return true;
}

Result<void> PmixManager::finalize() {
  const pmix_status_t status = library_.finalize(nullptr, 0);
  if (status != PMIX_SUCCESS) return failed("PMIx_Finalize", status);
  return {};
}

void PmixManager::abort(int code, std::string_view sentence) {
  static_cast<void>(library_.abort(code, std::string(sentence).c_str(), nullptr, 0));
  platform::end_process(code);
}

}  // namespace hawser::bootstrap
