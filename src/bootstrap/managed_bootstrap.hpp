// ManagedBootstrap: the bootstrap of a job that a foreign launcher started, over any
// ProcessManager.
//
// Connecting takes two exchanges. Before the first, rank 0 leaves the job's number and key, and the
// first process of each host offers memory to the others there (local_group.hpp). Before the
// second, these join it and tell their cores. Who published what becomes known at the third,
// commit(): one text or a few per process, fetched by others when they first look something up.
// Where all processes of the job are on one host, values and the end of the job go through the
// shared memory, and the launcher is not asked again.
//
// Launchers do not tell who has died. Processes of one host look for each other's, and note it in
// the shared memory; of another host it is for the transports to notice.
//
// Ownership: owns the manager and the memory. Threads: as Bootstrap; the manager is called under a
//            lock, because who waits for the end of the job does not hold that of a lane.
// Secrets:   the job's key passes through the launcher, and is in no message.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/local_group.hpp"
#include "bootstrap/process_manager.hpp"
#include "bootstrap/value_text.hpp"

namespace hawser::bootstrap {

class ManagedBootstrap final : public Bootstrap {
 public:
  /// Programs that take longer from their start to MPI_Init are given up.
  static constexpr std::uint64_t arrival_ns_max = 300'000'000'000;

  /// All processes of the job call it. MPI_ERR_OTHER if the launcher says what can't be.
  static Result<std::unique_ptr<Bootstrap>> connect(std::unique_ptr<ProcessManager> manager,
                                                    std::uint64_t arrival_ns = arrival_ns_max);

  [[nodiscard]] const Placement& placement() const override { return placement_; }
  Result<void> publish(std::string_view key, std::span<const std::byte> value) override;
  Result<void> commit() override;
  Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t index,
                                                        std::string_view key) override;
  [[nodiscard]] std::optional<HostMemory> host_memory() const override;
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override;
  [[nodiscard]] std::uint32_t ended_count() const override;
  [[nodiscard]] Ending ending_of(std::uint32_t index) const override;
  void look_for_ended() override;
  [[nodiscard]] std::uint64_t look_interval_ns() const override;
  [[nodiscard]] bool hears_of_deaths() const override { return is_one_host_; }
  void arrive_at_end() override;
  [[nodiscard]] bool have_all_arrived_at_end() const override;
  [[nodiscard]] int descriptor() const override;
  void report_initialized() override;
  void report_finalized() override;
  void report_exit() override;
  /// As long as the launcher does not say that they have ended, new processes may take
  /// arrival_ns_max.
  Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) override;
  // Names are the launcher's: those of its jobs of this user, until they or this process end.
  Result<void> publish_name(std::string_view service, std::string_view port) override;
  Result<std::string> look_up_name(std::string_view service) override;
  Result<void> unpublish_name(std::string_view service) override;
  [[noreturn]] void abort(int code, std::string_view sentence) override;

 private:
  /// What a process has published, as far as it was fetched.
  struct Peer {
    Values values;
    std::uint32_t commits = 0;
  };
  struct Secret {
    std::uint64_t job;
    JobKey key;
  };

  /// A process on this host. Local ranks are numbers among these, in the order of their indices.
  struct Member {
    std::uint32_t index;
    std::uint32_t place;  // in the group
  };

  ManagedBootstrap(std::unique_ptr<ProcessManager> manager, LocalGroup group, const Secret& secret,
                   std::uint64_t arrival_ns);
  static Result<void> put_secret(ProcessManager& manager);
  static Result<Secret> get_secret(ProcessManager& manager);
  static Result<LocalGroup> find_group(ProcessManager& manager);
  /// Who has joined GROUP; all have had the time to.
  static std::vector<Member> members_of(const LocalGroup& group, const ManagedJob& job);
  /// Fetches what PEER, process INDEX, has published since it was last asked for.
  Result<void> fetch(std::uint32_t index, Peer& peer);
  Result<Values> fetch_commit(std::uint32_t index, std::uint32_t commit);
  void take_leave();
  /// An error of ERROR_CLASS once this process has come to its end, for the launcher.
  [[nodiscard]] Result<void> check_present(ErrorClass error_class) const;

  const std::unique_ptr<ProcessManager> manager_;
  const LocalGroup group_;
  const std::vector<Member> members_;  // by local rank
  const bool is_one_host_;             // the whole job
  const std::uint64_t arrival_ns_;
  Placement placement_;

  mutable std::mutex mutex_;  // guards what follows, and the manager's use
  Values unpublished_;        // until the next commit()
  std::uint32_t commits_ = 0;
  std::map<std::uint32_t, Peer> peers_;
  std::set<std::string, std::less<>> names_;  // that this process has published
  bool has_arrived_ = false;
  mutable bool have_all_arrived_ = false;
  bool has_left_ = false;
};

}  // namespace hawser::bootstrap
