#include "binding/instance.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "platform/clock.hpp"
#include "platform/this_process.hpp"
#include "session/bootstrap_choice.hpp"
#include "session/configuration.hpp"
#include "session/host.hpp"
#include "tool/snapshot.hpp"

namespace hawser::binding {

Instance& Instance::get() {
  // Never destroyed: peers may read this process's memory until the kernel takes it away.
  static Instance* const instance = new Instance;
  return *instance;
}

Result<void> Instance::acquire(Runtime& runtime, bool threaded) {
  const std::lock_guard lock(mutex_);
  if (process_ == nullptr) HAWSER_TRY(create(runtime));
  if (threaded || tools_look_) process_->set_threaded(true);
  if (threaded) runtime.table<core::Request>().set_threaded(true);
  if (users_++ == 0) process_->come_back();
  runtime.set_phase(Phase::running);
  return {};
}

Result<void> Instance::load_parameters() {
  const std::lock_guard lock(mutex_);
  return load();
}

Result<void> Instance::load() {
  if (registry_.size() == 0) {
    session::register_all_parameters(registry_, settings_);
    Result<void> loaded = session::load_configuration(registry_, environ);
    if (!loaded) misconfiguration_ = loaded.take_error();
  }
  if (misconfiguration_) return *misconfiguration_;
  return {};
}

std::vector<tool::ControlVariable> Instance::control_variables() {
  const std::lock_guard lock(mutex_);
  return tool::make_control_variables(registry_);
}

base::ParameterValue Instance::parameter(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return *registry_.value(name);
}

Result<void> Instance::set_parameter(std::string_view name, const base::ParameterValue& value) {
  const std::lock_guard lock(mutex_);
  std::optional<p2p::LaneLock> lane;
  if (process_ != nullptr) lane.emplace(process_->engine());
  return registry_.set_value(name, value, base::ParameterSource::program, "MPI_T_cvar_write");
}

void Instance::read(const tool::PerformanceVariable& variable, std::span<std::uint64_t> numbers) {
  const std::lock_guard lock(mutex_);
  tool::read_variable(variable, process_.get(), numbers);
}

bool Instance::let_tools_look(bool caller_is_alone) {
  const std::lock_guard lock(mutex_);
  const bool nobody_is_inside = users_ == 0 || (users_ == 1 && caller_is_alone);
  if (!nobody_is_inside && !process_->engine().is_threaded()) return false;
  tools_look_ = true;
  if (process_ != nullptr) process_->set_threaded(true);
  return true;
}

Result<void> Instance::create(Runtime& runtime) {
  HAWSER_TRY(load());
  created_ns_ = platform::monotonic_ns();
  auto bootstrap = session::connect_bootstrap(settings_.bootstrap);
  if (!bootstrap) return bootstrap.take_error();
  bootstrap_ = std::move(*bootstrap);
  auto host = session::HostSurroundings::create(*bootstrap_, settings_);
  if (!host) return host.take_error();
  auto process = session::Process::create(std::move(*host), settings_, runtime.types());
  if (!process) return process.take_error();
  process_ = std::move(*process);
  const bootstrap::Placement& placement = bootstrap_->placement();
  runtime.attributes().appnum = placement.app_number;
  runtime.attributes().universe_size = placement.universe_size;
  runtime.attach(process_.get(), this);
  runtime.table<core::Request>().set_threaded(false);      // until a user says otherwise
  runtime.show<core::Request>(process_->engine().sent());  // before threads can
  for (const char* rules : {"channel.send_rules", "channel.earn_rules"})
    registry_.listen(rules, [this] { return process_->change_rules(settings_.channel); });
  registry_.begin_run();
  bootstrap_->report_initialized();
  creator_ = platform::process_id();
  std::atexit([] { Instance::get().report_exit(); });
  return {};
}

void Instance::report_exit() {
  // A child of fork() exits on its own behalf; other threads may still be inside.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || users_ > 0 || creator_ != platform::process_id()) return;
  bootstrap_->report_exit();
}

Result<void> Instance::release(Runtime& runtime, bool meet) {
  HAWSER_TRY(process_->finalize(meet));
  const std::lock_guard lock(mutex_);
  if (--users_ > 0) return {};
  process_->leave();
  runtime.set_phase(Phase::finalized);
  bootstrap_->report_finalized();
  return write_statistics();
}

Result<void> Instance::write_statistics() {
  if (settings_.stats_file.empty()) return {};
  return tool::write_statistics(
      tool::take_snapshot(*process_, registry_, platform::monotonic_ns() - created_ns_),
      settings_.stats_file);
}

void Instance::abort(int code, std::string_view sentence) {
  bootstrap_->abort(code, sentence);
  std::abort();  // not reached; GCC does not see that through the virtual call
}

int Instance::world_rank() const { return static_cast<int>(bootstrap_->placement().self.index); }

base::Identity Instance::identity() const { return bootstrap_->placement().self; }

}  // namespace hawser::binding
