// JobSegment: the memory that the processes of a job on one host share from their start: made by
// mpirun for its ranks, or under another launcher by one of them (local_group.hpp).
//
//   +------------------+ 0
//   | JobHeader        |  constant but for the abort record
//   +------------------+ entries_offset
//   | ProcessEntry × n |  each written by its process (and its end by others)
//   +------------------+ host_offset (page aligned)
//   | hostmem area     |  wake words and blocks; belongs to hostmem/
//   +------------------+ bytes
//
// The layout is a function of `size` and `host_bytes` alone, so that attaching can check all of it.
// An index here is that of a process among those of this host, from 0 on; under mpirun all are.
// Crash safety: no locks. Each entry has one writer; a value is valid once its `published` word was
// stored with release. The abort record is claimed by one compare-and-swap.
// Ownership: JobSegment owns the descriptor and its mapping of header and entries; the host area is
// mapped by hostmem/. The memory lives until the last process that holds it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/published_value.hpp"
#include "platform/file.hpp"

namespace hawser::bootstrap {

inline constexpr std::uint64_t job_segment_magic = 0x315f4a5253574148ULL;  // "HAWSRJ_1"
inline constexpr std::uint32_t job_segment_version = 4;

/// Processes of one job on one host, at most.
inline constexpr std::uint32_t job_processes_max = 65536;
/// What hostmem/ gets of the segment for each process.
inline constexpr std::size_t host_bytes_per_process = 4096;

enum class ProcessState : std::uint32_t { starting = 0, initialized = 1, finalized = 2 };

struct AbortRecord {
  std::atomic<std::uint32_t> state;  // 0 none, 1 being written, 2 valid
  std::int32_t code;
  std::uint32_t index;  // who aborted
  char sentence[500];
};

struct JobHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t size;   // processes of the job
  std::uint64_t job;    // random
  std::uint64_t bytes;  // of the whole segment
  std::uint64_t entries_offset;
  std::uint64_t host_offset;
  std::uint64_t host_bytes;
  std::int32_t launcher_pid;  // 0: no launcher
  std::int32_t host_cores;    // that the ranks share
  std::byte key[32];
  AbortRecord abort;
  std::atomic<std::uint32_t> ended;           // processes whose entry says so
  std::atomic<std::uint32_t> arrived_at_end;  // processes that have, or have ended without
  // Launchers of jobs that processes of this one have started: pids, 0 where there is none.
  static constexpr std::uint32_t spawned_max = 64;
  std::atomic<std::int32_t> spawned[spawned_max];
};

struct ProcessEntry {
  static constexpr int values_max = 5;             // addresses of transports, and what it shares
  static constexpr std::uint32_t has_arrived = 1;  // at its end: set by the process
  static constexpr std::uint32_t has_ended = 2;    // set by others, once nothing more comes of it

  std::atomic<std::uint32_t> state;  // ProcessState
  std::atomic<std::int32_t> pid;
  std::int32_t app_number;
  std::atomic<std::uint32_t> end;  // bits, see below
  PublishedValue values[values_max];
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(JobHeader) == 872 && sizeof(ProcessEntry) == 1496,
              "a changed layout needs a new job_segment_version");

class JobSegment {
 public:
  struct Request {
    std::uint32_t size = 1;
    std::size_t host_bytes = host_bytes_per_process;
    std::int32_t launcher_pid = 0;
    std::int32_t host_cores = 1;
  };
  /// A new job: random number and key, no process connected yet. All of its memory is allocated.
  static Result<JobSegment> create(const Request& request);
  /// The job behind FD, which came from outside: every field is checked before it is used. FD is
  /// taken over only on success, because the number may stand for a file of somebody else's.
  static Result<JobSegment> attach(platform::FileDescriptor& fd);

  /// The constant part of the header, as it was when this process checked it.
  struct Facts {
    std::uint64_t job;
    JobKey key;
    std::uint32_t size;
    std::int32_t launcher_pid;
    std::int32_t host_cores;
    std::size_t host_offset;
    std::size_t host_bytes;
  };
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] const platform::FileDescriptor& fd() const { return fd_; }
  [[nodiscard]] ProcessEntry& entry(std::uint32_t index) const;

  /// Process INDEX waits for the others to end. Told once, by itself.
  void record_arrival(std::uint32_t index) const;
  [[nodiscard]] bool have_all_arrived() const;
  /// Process INDEX has ended, and what it wrote is there. Told by the launcher, or by any that
  /// notice; the first counts.
  void record_end(std::uint32_t index) const;
  [[nodiscard]] std::uint32_t ended_count() const;
  [[nodiscard]] bool has_ended(std::uint32_t index) const;

  /// Process LAUNCHER runs a job that a process of this one has asked for: this job's launcher is
  /// to stay until it ends. MPI_ERR_SPAWN if there are JobHeader::spawned_max.
  Result<void> record_spawned(std::int32_t launcher) const;
  /// It has ended. False if it was none of them.
  bool strike_spawned(std::int32_t launcher) const;
  [[nodiscard]] std::vector<std::int32_t> spawned() const;

  struct Abort {
    int code;
    std::uint32_t index;
    std::string sentence;
  };
  /// Only the first call of a job counts. A sentence that is too long is cut.
  void record_abort(const Abort& abort) const;
  [[nodiscard]] std::optional<Abort> recorded_abort() const;

 private:
  JobSegment(platform::FileDescriptor fd, platform::Mapping mapping, const Facts& facts)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), facts_(facts) {}
  [[nodiscard]] JobHeader& header() const;

  platform::FileDescriptor fd_;
  platform::Mapping mapping_;
  Facts facts_;
};

}  // namespace hawser::bootstrap
