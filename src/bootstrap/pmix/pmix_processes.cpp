// PmixManager: further processes, and names.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "bootstrap/not_offered.hpp"
#include "bootstrap/pmix/answer.hpp"
#include "bootstrap/pmix/app.hpp"
#include "bootstrap/pmix/infos.hpp"
#include "bootstrap/pmix/pmix_manager.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

constexpr std::string_view parameter_prefix = "HAWSER_";
constexpr std::string_view name_prefix = "hawser.name.";

/// A launcher gives new processes its own environment and this: the parameters of the parents.
std::vector<std::string> variables_of(const SpawnRequest& request) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with(parameter_prefix))
      variables.emplace_back(*variable);
  for (const auto& [name, value] : request.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

std::string name_of(const pmix_nspace_t space) {
  return {space, ::strnlen(space, sizeof(pmix_nspace_t))};
}

void on_spawned(pmix_status_t status, pmix_nspace_t space, void* given) {
  PmixAnswer::take(given)->tell(status, status == PMIX_SUCCESS ? name_of(space) : "");
}

void on_done(pmix_status_t status, void* given) { PmixAnswer::take(given)->tell(status); }

void on_found(pmix_status_t status, pmix_pdata_t data[], std::size_t count, void* given) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    if (data[i].value.type == PMIX_STRING && data[i].value.data.string != nullptr)
      text = data[i].value.data.string;
  PmixAnswer::take(given)->tell(status, std::move(text));
}

void on_registered(pmix_status_t status, std::size_t /*number*/, void* given) {
  PmixAnswer::take(given)->tell(status);
}

void on_job_end(std::size_t /*handler*/, pmix_status_t /*event*/, const pmix_proc_t* /*source*/,
                pmix_info_t infos[], std::size_t count, pmix_info_t* /*results*/,
                std::size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t next,
                void* next_data) {
  PmixJobEnds* ends = nullptr;
  std::string job;
  pmix_status_t status = PMIX_SUCCESS;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = infos[i].key;
    const pmix_value_t& value = infos[i].value;
    if (key == PMIX_EVENT_RETURN_OBJECT && value.type == PMIX_POINTER)
      ends = static_cast<PmixJobEnds*>(value.data.ptr);
    if (key == PMIX_EVENT_AFFECTED_PROC && value.type == PMIX_PROC)
      job = name_of(value.data.proc->nspace);
    if (key == PMIX_JOB_TERM_STATUS && value.type == PMIX_STATUS) status = value.data.status;
  }
  if (ends != nullptr) ends->tell(job, status);
  next(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, next_data);
}

/// Has START(given) begin a request, and waits until ANSWER tells what became of it.
template <class Start>
pmix_status_t ask(const std::shared_ptr<PmixAnswer>& answer, Start&& start) {
  void* const given = PmixAnswer::give(answer);
  const pmix_status_t begun = start(given);
  if (begun == PMIX_SUCCESS) return answer->wait();
  static_cast<void>(PmixAnswer::take(given));
  return begun == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : begun;
}

}  // namespace

/// Everything that was handed to the library, and what it tells of it.
class PmixManager::PmixSpawning final : public Spawning {
 public:
  PmixSpawning(const PmixLibrary& library, std::string launcher, const PmixJobEnds& ends)
      : library_(library), launcher_(std::move(launcher)), ends_(ends) {}

  pmix_status_t start(const SpawnRequest& request) {
    const std::vector<std::string> variables = variables_of(request);
    for (const SpawnProgram& program : request.programs)
      apps_.push_back(std::make_unique<PmixApp>(program, variables));
    std::vector<pmix_app_t> shown;
    for (const auto& app : apps_) shown.push_back(app->shown());
    const pmix_info_t notify = pmix_flag(PMIX_NOTIFY_COMPLETION);
    void* const given = PmixAnswer::give(answer_);
    const pmix_status_t status =
        library_.start_spawn(&notify, 1, shown.data(), shown.size(), &on_spawned, given);
    if (status != PMIX_SUCCESS) static_cast<void>(PmixAnswer::take(given));
    return status;
  }

  std::optional<std::string> failure() override {
    const std::optional<pmix_status_t> status = answer_->status();
    if (!status) return std::nullopt;
    if (*status == PMIX_ERR_NOT_SUPPORTED)
      return not_offered(ErrorClass::spawn, launcher_, "start further processes").sentence();
    if (*status != PMIX_SUCCESS)
      return fmt::format("{} cannot start the new processes: {}", launcher_,
                         library_.error_text(*status));
    const std::optional<pmix_status_t> end = ends_.of(answer_->text());
    if (!end) return std::nullopt;
    return fmt::format("the new processes have ended ({}) before they called MPI_Init together",
                       library_.error_text(*end));
  }

 private:
  const PmixLibrary& library_;
  const std::string launcher_;
  const PmixJobEnds& ends_;
  std::vector<std::unique_ptr<PmixApp>> apps_;
  const std::shared_ptr<PmixAnswer> answer_ = std::make_shared<PmixAnswer>();
};

Error PmixManager::failed(const char* function, pmix_status_t status, ErrorClass error_class,
                          std::string_view what) const {
  if (status == PMIX_ERR_NOT_SUPPORTED) return not_offered(error_class, job_.launcher, what);
  return {error_class, failed(function, status).sentence()};
}

Result<void> PmixManager::listen_for_ends() {
  if (ends_ != nullptr) return {};
  auto* const ends = new PmixJobEnds;  // NOLINT: see its comment
  pmix_status_t code = PMIX_EVENT_JOB_END;
  pmix_info_t object = pmix_pointer(PMIX_EVENT_RETURN_OBJECT, ends);
  const auto answer = std::make_shared<PmixAnswer>();
  void* const given = PmixAnswer::give(answer);
  library_.register_handler(&code, 1, &object, 1, &on_job_end, &on_registered, given);
  const pmix_status_t status = answer->wait();
  if (status != PMIX_SUCCESS)
    return failed("PMIx_Register_event_handler", status, ErrorClass::spawn,
                  "start further processes");
  ends_ = ends;
  return {};
}

Result<std::unique_ptr<Spawning>> PmixManager::spawn(const SpawnRequest& request) {
  HAWSER_TRY(listen_for_ends());
  auto spawning = std::make_unique<PmixSpawning>(library_, job_.launcher, *ends_);
  const pmix_status_t status = spawning->start(request);
  if (status != PMIX_SUCCESS)
    return failed("PMIx_Spawn_nb", status, ErrorClass::spawn, "start further processes");
  return std::unique_ptr<Spawning>(std::move(spawning));
}

Result<std::string> PmixManager::key_of_name(std::string_view service,
                                             ErrorClass error_class) const {
  std::string key = std::string(name_prefix).append(service);
  if (key.size() <= PMIX_MAX_KEYLEN) return key;
  return Error(error_class,
               fmt::format("the name has {} bytes; {} are the most that {} carries", service.size(),
                           PMIX_MAX_KEYLEN - name_prefix.size(), job_.launcher));
}

Result<void> PmixManager::publish_name(std::string_view service, std::string_view port) {
  const Result<std::string> key = key_of_name(service, ErrorClass::service);
  if (!key) return key.error();
  std::string text(port);
  const std::array<pmix_info_t, 3> infos{pmix_text(*key, text), pmix_range(PMIX_RANGE_SESSION),
                                         pmix_persistence(PMIX_PERSIST_PROC)};
  const auto answer = std::make_shared<PmixAnswer>();
  const pmix_status_t status = ask(answer, [&](void* given) {
    return library_.start_publish(infos.data(), infos.size(), &on_done, given);
  });
  if (status == PMIX_SUCCESS) return {};
  return failed("PMIx_Publish_nb", status, ErrorClass::service, "publish names");
}

Result<std::string> PmixManager::look_up_name(std::string_view service) {
  Result<std::string> key = key_of_name(service, ErrorClass::name);
  if (!key) return key.take_error();
  const pmix_info_t range = pmix_range(PMIX_RANGE_SESSION);
  std::array<char*, 2> keys{key->data(), nullptr};
  const auto answer = std::make_shared<PmixAnswer>();
  const pmix_status_t status = ask(answer, [&](void* given) {
    return library_.start_lookup(keys.data(), &range, 1, &on_found, given);
  });
  if (status == PMIX_SUCCESS && !answer->text().empty()) return answer->text();
  if (status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND)
    return Error(ErrorClass::name, fmt::format("nobody has published the name '{}', as far as {} "
                                               "knows",
                                               service, job_.launcher));
  return failed("PMIx_Lookup_nb", status, ErrorClass::name, "look names up");
}

Result<void> PmixManager::unpublish_name(std::string_view service) {
  Result<std::string> key = key_of_name(service, ErrorClass::service);
  if (!key) return key.take_error();
  const pmix_info_t range = pmix_range(PMIX_RANGE_SESSION);
  std::array<char*, 2> keys{key->data(), nullptr};
  const auto answer = std::make_shared<PmixAnswer>();
  const pmix_status_t status = ask(answer, [&](void* given) {
    return library_.start_unpublish(keys.data(), &range, 1, &on_done, given);
  });
  if (status == PMIX_SUCCESS) return {};
  return failed("PMIx_Unpublish_nb", status, ErrorClass::service, "publish names");
}

}  // namespace hawser::bootstrap
