// SpawnedJob: a job that a process starts by an mpirun of its own, which stays when the process
// ends.
//
// That mpirun (launcher/) detaches itself: it becomes a child of the launcher of our job, or of
// nobody. It tells its pid by a pipe, and its exit code.
// Ownership: owns the reading end; the job is nobody's.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"
#include "bootstrap/spawn.hpp"
#include "platform/file.hpp"

namespace hawser::bootstrap {

/// The variable that has mpirun detach: the descriptor by which it reports.
inline constexpr const char* spawn_report_variable = "HAWSER_SPAWN_REPORT";
/// The lines that it writes there begin with these, and go on with a number.
inline constexpr std::string_view report_of_pid = "pid ";
inline constexpr std::string_view report_of_exit = "exit ";

class SpawnedJob final : public Spawning {
 public:
  /// Starts REQUEST by the program MPIRUN. MPI_ERR_SPAWN.
  static base::Result<std::unique_ptr<SpawnedJob>> start(const std::string& mpirun,
                                                         const SpawnRequest& request);

  /// Of its mpirun.
  [[nodiscard]] pid_t launcher() const { return launcher_; }
  std::optional<std::string> failure() override;
  [[nodiscard]] int descriptor() const override { return report_.get(); }

 private:
  explicit SpawnedJob(platform::FileDescriptor report) : report_(std::move(report)) {}
  base::Result<void> hear_pid();
  /// Reads what is there; false once the pipe has ended.
  bool read_some();

  platform::FileDescriptor report_;
  std::string heard_;
  pid_t launcher_ = 0;
};

/// The mpirun that came with this library; MPI_ERR_SPAWN if there is none.
base::Result<std::string> own_mpirun();

}  // namespace hawser::bootstrap
