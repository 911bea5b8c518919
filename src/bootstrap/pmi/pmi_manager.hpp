// PmiManager: a launcher that speaks PMI-1 over an inherited socket: MPICH's and Intel's hydra, and
// Slurm with --mpi=pmi2, which understands both generations.
//
// Ownership: owns the socket. Threads: as ProcessManager.
// Invariant: an answer is the next line, but for the end of a barrier and what became of new
//            processes, which may come between.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bootstrap/pmi/message.hpp"
#include "bootstrap/process_manager.hpp"
#include "platform/line_socket.hpp"

namespace hawser::bootstrap {

/// What tells that there is such a launcher: the number of the socket.
inline constexpr const char* pmi_fd_variable = "PMI_FD";

class PmiManager final : public ProcessManager {
 public:
  /// The launcher that PMI_FD, PMI_RANK and PMI_SIZE in the environment name; they are taken out of
  /// it.
  static base::Result<std::unique_ptr<ProcessManager>> connect();
  /// That at the other end of SOCKET, of which we are RANK of SIZE. SOCKET is taken over on success
  /// only.
  static base::Result<std::unique_ptr<ProcessManager>> join(platform::FileDescriptor& socket,
                                                            std::uint32_t rank, std::uint32_t size);

  [[nodiscard]] const ManagedJob& job() const override { return job_; }
  base::Result<void> put(std::string_view key, std::string_view text) override;
  base::Result<void> exchange() override;
  base::Result<std::optional<std::string>> get(std::uint32_t rank, std::string_view key) override;
  base::Result<void> start_barrier() override;
  base::Result<bool> is_barrier_done() override;
  [[nodiscard]] int descriptor() const override { return socket_.descriptor(); }
  base::Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) override;
  base::Result<void> publish_name(std::string_view service, std::string_view port) override;
  base::Result<std::string> look_up_name(std::string_view service) override;
  base::Result<void> unpublish_name(std::string_view service) override;
  base::Result<void> finalize() override;
  [[noreturn]] void abort(int code, std::string_view sentence) override;

 private:
  using Message = pmi::Message;
  class PmiSpawning;

  PmiManager(platform::FileDescriptor socket, std::uint32_t rank, std::uint32_t size);
  base::Result<void> introduce();
  base::Result<void> learn_limits();
  base::Result<void> learn_job();
  base::Result<void> learn_neighbours();
  void wait_until_read() const;
  /// Sends LINE and waits for the answer of the name ANSWER, which may tell of a failure.
  base::Result<Message> ask(std::string_view line, std::string_view answer);
  base::Result<std::optional<std::string>> get_text(std::string_view key);
  /// Takes MESSAGE if it may come at any time; false if it is something else.
  bool take_aside(const Message& message);
  /// Takes aside what has come.
  base::Result<void> hear();
  /// Of request NUMBER to start processes.
  std::optional<std::string> spawn_failure(std::uint32_t number);
  /// What MPI_Comm_spawn has left for the environment of this process, which it has started.
  base::Result<void> adopt_variables();
  [[nodiscard]] base::Error broken(std::string_view reason) const;

  platform::LineSocket socket_;
  ManagedJob job_;
  bool barrier_is_under_way_ = false;
  std::uint32_t spawns_asked_ = 0;
  std::uint32_t spawns_answered_ = 0;                    // in the same order
  std::map<std::uint32_t, std::string> refused_spawns_;  // number, return code
};

}  // namespace hawser::bootstrap
