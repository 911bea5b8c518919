// For tests: a launcher whose processes are threads. FakeLauncher is what they share.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/process_manager.hpp"
#include "platform/file.hpp"

namespace hawser::bootstrap {

class FakeLauncher {
 public:
  explicit FakeLauncher(std::uint32_t size) : size_(size) {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  std::size_t value_bytes_max = 1024;
  std::atomic<int> gets = 0;
  std::atomic<int> finalized = 0;
  std::atomic<bool> is_gone = false;

  bool put(std::uint32_t rank, std::string_view key, std::string_view text) {
    const std::lock_guard lock(mutex_);
    return pending_.emplace(std::pair(rank, std::string(key)), text).second;
  }
  /// What RANK has put becomes TEXT on its way.
  void forge(std::uint32_t rank, std::string_view key, std::string_view text) {
    const std::lock_guard lock(mutex_);
    forged_[std::pair(rank, std::string(key))] = text;
  }
  std::optional<std::string> get(std::uint32_t rank, std::string_view key) {
    const std::lock_guard lock(mutex_);
    ++gets;
    const std::pair name(rank, std::string(key));
    if (const auto found = forged_.find(name); found != forged_.end()) return found->second;
    const auto found = visible_.find(name);
    return found == visible_.end() ? std::nullopt : std::optional(found->second);
  }
  void exchange() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      visible_.insert(pending_.begin(), pending_.end());
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
  }
  void arrive() { ++at_end_; }

  std::atomic<int> spawns = 0;
  /// What there is to say about spawned processes.
  void set_spawn_failure(std::string_view sentence) {
    const std::lock_guard lock(mutex_);
    spawn_failure_ = sentence;
  }
  std::optional<std::string> spawn_failure() {
    const std::lock_guard lock(mutex_);
    return spawn_failure_;
  }
  /// Published names with their ports.
  std::map<std::string, std::string, std::less<>> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }
  void set_name(std::string_view service, std::optional<std::string> port) {
    const std::lock_guard lock(mutex_);
    names_.erase(std::string(service));
    if (port) names_.emplace(service, *port);
  }
  [[nodiscard]] bool have_all_arrived() const { return at_end_ == size_; }

 private:
  using Name = std::pair<std::uint32_t, std::string>;
  const std::uint32_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Name, std::string> pending_;
  std::map<Name, std::string> visible_;
  std::map<Name, std::string> forged_;
  std::map<std::string, std::string, std::less<>> names_;
  std::optional<std::string> spawn_failure_;
  std::uint32_t arrived_ = 0;
  int round_ = 0;
  std::atomic<std::uint32_t> at_end_ = 0;
};

class FakeSpawning final : public Spawning {
 public:
  explicit FakeSpawning(FakeLauncher& launcher) : launcher_(launcher) {}
  std::optional<std::string> failure() override { return launcher_.spawn_failure(); }

 private:
  FakeLauncher& launcher_;
};

class FakeProcessManager final : public ProcessManager {
 public:
  FakeProcessManager(FakeLauncher& launcher, std::uint32_t rank,
                     std::vector<std::uint32_t> claimed_local)
      : launcher_(launcher), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    job_.rank = rank;
    job_.size = launcher.size();
    job_.name = "fake-1";
    job_.claimed_local = std::move(claimed_local);
    job_.app_number = 3;
    job_.universe_size = 99;
    job_.value_bytes_max = launcher.value_bytes_max;
    job_.launcher = "a fake launcher";
  }

  [[nodiscard]] const ManagedJob& job() const override { return job_; }
  base::Result<void> put(std::string_view key, std::string_view text) override {
    if (key.size() > key_bytes_max || text.size() > job_.value_bytes_max ||
        !launcher_.put(job_.rank, key, text))
      return base::Error(base::ErrorClass::other, "too long, or twice");
    return {};
  }
  base::Result<void> exchange() override {
    launcher_.exchange();
    return {};
  }
  base::Result<std::optional<std::string>> get(std::uint32_t rank, std::string_view key) override {
    return launcher_.get(rank, key);
  }
  base::Result<void> start_barrier() override {
    if (launcher_.is_gone) return base::Error(base::ErrorClass::other, "gone");
    launcher_.arrive();
    return {};
  }
  base::Result<bool> is_barrier_done() override { return launcher_.have_all_arrived(); }
  [[nodiscard]] int descriptor() const override { return event_.get(); }
  base::Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) override {
    if (request.programs.empty()) return base::Error(base::ErrorClass::spawn, "no program");
    ++launcher_.spawns;
    return std::unique_ptr<Spawning>(std::make_unique<FakeSpawning>(launcher_));
  }
  base::Result<void> publish_name(std::string_view service, std::string_view port) override {
    launcher_.set_name(service, std::string(port));
    return {};
  }
  base::Result<std::string> look_up_name(std::string_view service) override {
    const auto names = launcher_.names();
    const auto found = names.find(service);
    if (found == names.end()) return base::Error(base::ErrorClass::name, "no such name");
    return found->second;
  }
  base::Result<void> unpublish_name(std::string_view service) override {
    launcher_.set_name(service, std::nullopt);
    return {};
  }
  base::Result<void> finalize() override {
    ++launcher_.finalized;
    return {};
  }
  [[noreturn]] void abort(int code, std::string_view) override { ::_exit(code); }

 private:
  FakeLauncher& launcher_;
  ManagedJob job_;
  platform::FileDescriptor event_;
};

}  // namespace hawser::bootstrap
