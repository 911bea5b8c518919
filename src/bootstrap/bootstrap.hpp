// Bootstrap: who am I, who else is there, and how we exchange the first bytes (DESIGN §2, §7).
//
// local/ is that of our own mpirun on one host and of programs that nobody started;
// managed_bootstrap.hpp that of launchers of others. It connects once per OS process, until exit.
// Ownership: owned by the session layer. Threads: called under the lane lock or before threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "bootstrap/spawn.hpp"
#include "platform/file.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Identity;
using base::Result;

/// The secret of a job: a connection proves that it knows it before its first frame is read.
using JobKey = std::array<std::byte, 32>;

/// What a process is told at its start; constant from then on.
struct Placement {
  Identity self;
  std::uint32_t size = 1;  // processes of the job: indices 0 … size-1
  JobKey key{};
  int app_number = 0;            // MPI_APPNUM: which program of the command line
  int universe_size = 1;         // MPI_UNIVERSE_SIZE
  std::uint32_t local_rank = 0;  // among the job's processes on this host
  std::uint32_t local_size = 1;
  int host_cores = 1;    // that the local ranks share
  std::string launcher;  // "hawser mpirun", "none", …
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  [[nodiscard]] virtual const Placement& placement() const = 0;

  /// Publishes VALUE under KEY for the others (an address); may be called once per key. Others see
  /// it at some time after the next commit(), or before, and never without what was published
  /// earlier. KEY at most 31 bytes, VALUE at most 255.
  virtual Result<void> publish(std::string_view key, std::span<const std::byte> value) = 0;
  /// Others may look up what was published until now. All processes of the job call it equally
  /// often; it may wait for them. The first time is before the first look_up().
  virtual Result<void> commit() { return {}; }
  /// What process INDEX published under KEY; nothing if it has not done so yet.
  virtual Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t index,
                                                                std::string_view key) = 0;

  /// Memory that the local processes share from the start, for hostmem/: processes are numbered
  /// by local rank in it. Nothing if this bootstrap has no such shortcut.
  struct HostMemory {
    const platform::FileDescriptor* fd;
    std::size_t offset;
    std::size_t bytes;
  };
  [[nodiscard]] virtual std::optional<HostMemory> host_memory() const = 0;
  /// The local rank of process INDEX, if it is on this host.
  [[nodiscard]] virtual std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const = 0;

  /// How a process of the job has ended. One that merely says nothing has not.
  enum class Ending : std::uint8_t { none, finalized, died };
  /// How many processes are known to have ended; only grows. Asked whenever there is nothing to do.
  [[nodiscard]] virtual std::uint32_t ended_count() const { return 0; }
  /// What is known of process INDEX; at least what ended_count() has counted.
  [[nodiscard]] virtual Ending ending_of(std::uint32_t /*index*/) const { return Ending::none; }

  /// Where nobody tells of deaths: looks for processes that have ended, for ended_count() to count.
  /// Takes some microseconds; to be called every look_interval_ns(), unless that is 0.
  virtual void look_for_ended() {}
  [[nodiscard]] virtual std::uint64_t look_interval_ns() const { return 0; }
  /// Whether it hears of every death by itself. If not, have_all_arrived_at_end() may wait for the
  /// dead.
  [[nodiscard]] virtual bool hears_of_deaths() const { return false; }

  /// This process has come to its end, where it waits for the others (MPI_Finalize). Once.
  virtual void arrive_at_end() = 0;
  /// All processes of the job have, or have ended without.
  [[nodiscard]] virtual bool have_all_arrived_at_end() const = 0;

  /// Becomes readable when ended_count() or have_all_arrived_at_end() may have something new to
  /// say, which they take from it. -1: who ends or arrives wakes the others.
  [[nodiscard]] virtual int descriptor() const { return -1; }

  /// Tells the launcher that this process has called MPI_Init / has finalised, so that an exit in
  /// between counts as a failure.
  virtual void report_initialized() = 0;
  virtual void report_finalized() = 0;
  /// This process is about to exit in order, after it has finalised all that it had initialised.
  virtual void report_exit() {}
  /// Has the launcher start further processes, a job of their own. MPI_ERR_SPAWN if it can't.
  virtual Result<std::unique_ptr<Spawning>> spawn(const SpawnRequest& request);

  /// Tells whoever looks up SERVICE of PORT, as far as the launcher or this host carries it.
  /// MPI_ERR_SERVICE if the name is taken.
  virtual Result<void> publish_name(std::string_view service, std::string_view port);
  /// MPI_ERR_NAME if nobody has published SERVICE.
  virtual Result<std::string> look_up_name(std::string_view service);
  /// MPI_ERR_SERVICE if this process has not published SERVICE.
  virtual Result<void> unpublish_name(std::string_view service);

  /// Ends the whole job with CODE; SENTENCE tells the user why.
  [[noreturn]] virtual void abort(int code, std::string_view sentence) = 0;
};

}  // namespace hawser::bootstrap
