// ManagedBootstrap: further processes, and names.
#include <fmt/format.h>

#include <utility>

#include "bootstrap/managed_bootstrap.hpp"
#include "platform/clock.hpp"
#include "platform/event.hpp"

namespace hawser::bootstrap {

namespace {

/// A launcher is asked about new processes this often.
constexpr std::uint64_t inquiry_ns = 50'000'000;
constexpr std::uint64_t second_ns = 1'000'000'000;

/// Asks about them from time to time, and loses patience.
class ManagedSpawning final : public Spawning {
 public:
  ManagedSpawning(std::unique_ptr<Spawning> inner, std::mutex& mutex, std::string launcher,
                  std::uint64_t began_ns, platform::FileDescriptor timer, std::uint64_t arrival_ns)
      : inner_(std::move(inner)),
        mutex_(mutex),
        launcher_(std::move(launcher)),
        began_ns_(began_ns),
        timer_(std::move(timer)),
        arrival_ns_(arrival_ns) {}

  std::optional<std::string> failure() override {
    const std::uint64_t now = platform::monotonic_ns();
    if (now < next_inquiry_ns_) return std::nullopt;
    next_inquiry_ns_ = began_ns_ + ((now - began_ns_) / inquiry_ns + 1) * inquiry_ns;
    platform::clear_event(timer_);
    const std::lock_guard lock(mutex_);
    if (auto told = inner_->failure()) return told;
    if (now - began_ns_ < arrival_ns_) return std::nullopt;
    return fmt::format(
        "the new processes have not called MPI_Init together within {} s, and {} "
        "does not say whether they have ended",
        arrival_ns_ / second_ns, launcher_);
  }
  [[nodiscard]] int descriptor() const override { return timer_.get(); }

 private:
  const std::unique_ptr<Spawning> inner_;
  std::mutex& mutex_;  // of the manager
  const std::string launcher_;
  const std::uint64_t began_ns_;
  const platform::FileDescriptor timer_;  // begun later, so that a tick is time to ask
  const std::uint64_t arrival_ns_;
  std::uint64_t next_inquiry_ns_ = 0;  // who polls asks no more often than who sleeps
};

}  // namespace

Result<void> ManagedBootstrap::check_present(ErrorClass error_class) const {
  if (!has_arrived_ && !has_left_) return {};
  return Error(error_class, fmt::format("{} takes no more requests of this process, which has "
                                        "called MPI_Finalize",
                                        placement_.launcher));
}

Result<std::unique_ptr<Spawning>> ManagedBootstrap::spawn(const SpawnRequest& request) {
  const std::uint64_t began_ns = platform::monotonic_ns();
  Result<platform::FileDescriptor> timer = platform::make_timer(inquiry_ns);
  if (!timer) return timer.take_error();
  const std::lock_guard lock(mutex_);
  HAWSER_TRY(check_present(ErrorClass::spawn));
  Result<std::unique_ptr<Spawning>> spawning = manager_->spawn(request);
  if (!spawning) return spawning.take_error();
  return std::unique_ptr<Spawning>(std::make_unique<ManagedSpawning>(
      *std::move(spawning), mutex_, placement_.launcher, began_ns, *std::move(timer), arrival_ns_));
}

Result<void> ManagedBootstrap::publish_name(std::string_view service, std::string_view port) {
  const std::lock_guard lock(mutex_);
  HAWSER_TRY(check_present(ErrorClass::service));
  if (manager_->look_up_name(service))
    return Error(ErrorClass::service,
                 fmt::format("the name '{}' is taken in the jobs of this launcher ({})", service,
                             placement_.launcher));
  HAWSER_TRY(manager_->publish_name(service, port));
  names_.emplace(service);
  return {};
}

Result<std::string> ManagedBootstrap::look_up_name(std::string_view service) {
  const std::lock_guard lock(mutex_);
  HAWSER_TRY(check_present(ErrorClass::name));
  return manager_->look_up_name(service);
}

Result<void> ManagedBootstrap::unpublish_name(std::string_view service) {
  const std::lock_guard lock(mutex_);
  HAWSER_TRY(check_present(ErrorClass::service));
  const auto name = names_.find(service);
  if (name == names_.end())
    return Error(ErrorClass::service,
                 fmt::format("this process has not published the name '{}'", service));
  HAWSER_TRY(manager_->unpublish_name(service));
  names_.erase(name);
  return {};
}

}  // namespace hawser::bootstrap
