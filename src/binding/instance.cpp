#include "binding/instance.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bootstrap/local/local_bootstrap.hpp"
#include "platform/clock.hpp"
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
  if (threaded) {
    process_->set_threaded(true);
    runtime.table<core::Request>().set_threaded(true);
  }
  if (users_++ == 0) process_->come_back();
  runtime.set_phase(Phase::running);
  return {};
}

Result<void> Instance::create(Runtime& runtime) {
  if (registry_.size() == 0) {
    session::register_all_parameters(registry_, settings_);
    HAWSER_TRY(session::load_configuration(registry_, environ));
  }
  created_ns_ = platform::monotonic_ns();
  auto bootstrap = bootstrap::LocalBootstrap::connect();
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
  bootstrap_->report_initialized();
  return {};
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
