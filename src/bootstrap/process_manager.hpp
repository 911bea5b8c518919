// ProcessManager: a launcher that is not ours, as far as a job needs it: who are we, a board on
// which processes leave short texts for each other, a barrier at the end, further processes, names,
// abort.
//
// managed_bootstrap.hpp makes a Bootstrap of any of them.
// Ownership: owned by the ManagedBootstrap. Threads: one at a time; the owner locks.
// Invariant: what it returns came from outside of the process; the caller checks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bootstrap/spawn.hpp"

namespace hawser::bootstrap {

/// What a launcher says of a job and of this process in it.
struct ManagedJob {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string name;  // the launcher's; for sentences
  /// The ranks that are on this host, in rising order, if the launcher is right: this one among
  /// them.
  std::vector<std::uint32_t> claimed_local;
  int app_number = 0;
  int universe_size = 1;
  std::size_t value_bytes_max = 0;  // of one text
  std::string launcher;             // "MPICH hydra (PMI-1)"
};

class ProcessManager {
 public:
  virtual ~ProcessManager() = default;

  /// Constant from the start.
  [[nodiscard]] virtual const ManagedJob& job() const = 0;

  /// Leaves TEXT for the others under KEY; once per key. KEY: at most key_bytes_max letters,
  /// digits and dots; TEXT: hexadecimal digits and dots, at most value_bytes_max.
  static constexpr std::size_t key_bytes_max = 23;
  virtual base::Result<void> put(std::string_view key, std::string_view text) = 0;
  /// All processes of the job call it equally often, and it waits for them. Afterwards each finds
  /// what any has put before.
  virtual base::Result<void> exchange() = 0;
  /// What RANK has put under KEY before the last exchange; nothing if it has not.
  virtual base::Result<std::optional<std::string>> get(std::uint32_t rank,
                                                       std::string_view key) = 0;

  /// All processes of the job are to come here once. Waits for nobody.
  virtual base::Result<void> start_barrier() = 0;
  /// They have. Never waits; nothing else may be done until then but get. An error: the launcher is
  /// gone.
  virtual base::Result<bool> is_barrier_done() = 0;
  /// Readable when is_barrier_done() may have something new to say, which it takes from it.
  [[nodiscard]] virtual int descriptor() const = 0;

  /// See Bootstrap; none of them while a barrier is under way. They start and return, or wait for a
  /// bounded time. What a launcher can't do is an error that names it.
  virtual base::Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request) = 0;
  /// Whether the name is taken need not be noticed.
  virtual base::Result<void> publish_name(std::string_view service, std::string_view port) = 0;
  virtual base::Result<std::string> look_up_name(std::string_view service) = 0;
  /// What this process has published.
  virtual base::Result<void> unpublish_name(std::string_view service) = 0;

  /// This process takes its leave: its exit is no failure. The last call.
  virtual base::Result<void> finalize() = 0;
  /// Has the launcher end the job with exit code CODE, for which SENTENCE is the reason.
  [[noreturn]] virtual void abort(int code, std::string_view sentence) = 0;
};

}  // namespace hawser::bootstrap
