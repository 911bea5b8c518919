// LocalBootstrap: the bootstrap of processes that our mpirun started on one host, and of programs
// that nobody started (a job of one).
//
// Ownership: owns the job's descriptor and its mapping; both live as long as it.
// Threads:   as Bootstrap; look_up may race with the publish of other processes.
// Invariant: one process per index. The variables of mpirun are taken out of the environment and
//            the descriptor is closed on exec, so that a program which this process starts is a
//            job of its own and not the same rank once more.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/job_segment.hpp"
#include "bootstrap/local/name_board.hpp"

namespace hawser::bootstrap {

/// The number of the inherited descriptor of the job's segment, and the rank in it.
inline constexpr const char* job_fd_variable = "HAWSER_JOB_FD";
inline constexpr const char* job_index_variable = "HAWSER_JOB_INDEX";

class LocalBootstrap final : public Bootstrap {
 public:
  /// The job that the environment names, or else a job of one.
  static Result<std::unique_ptr<Bootstrap>> connect();
  /// A job of one, with a segment of its own.
  static Result<std::unique_ptr<Bootstrap>> singleton();
  /// Process INDEX of the job behind FD, which is taken over only on success.
  static Result<std::unique_ptr<Bootstrap>> join(platform::FileDescriptor& fd, std::uint32_t index);

  [[nodiscard]] const Placement& placement() const override { return placement_; }
  Result<void> publish(std::string_view key, std::span<const std::byte> value) override;
  Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t index,
                                                        std::string_view key) override;
  [[nodiscard]] std::optional<HostMemory> host_memory() const override;
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override;
  [[nodiscard]] std::uint32_t ended_count() const override { return segment_.ended_count(); }
  [[nodiscard]] Ending ending_of(std::uint32_t index) const override;
  void arrive_at_end() override { segment_.record_arrival(placement_.self.index); }
  /// mpirun writes it down.
  [[nodiscard]] bool hears_of_deaths() const override { return true; }
  [[nodiscard]] bool have_all_arrived_at_end() const override {
    return segment_.have_all_arrived();
  }
  void report_initialized() override;
  void report_finalized() override;
  /// By an mpirun of its own, for which that of this job waits.
  Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) override;
  // Names are those of this user's programs on this host.
  Result<void> publish_name(std::string_view service, std::string_view port) override {
    return names_.publish(service, port);
  }
  Result<std::string> look_up_name(std::string_view service) override {
    return NameBoard::look_up(service);
  }
  Result<void> unpublish_name(std::string_view service) override {
    return names_.unpublish(service);
  }
  [[noreturn]] void abort(int code, std::string_view sentence) override;

 private:
  LocalBootstrap(JobSegment segment, std::uint32_t index);
  static Result<std::unique_ptr<Bootstrap>> claim(JobSegment segment, std::uint32_t index);

  const JobSegment segment_;
  ProcessEntry& entry_;
  Placement placement_;
  NameBoard names_;
};

}  // namespace hawser::bootstrap
