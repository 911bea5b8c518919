// JobSegment: the memory that mpirun shares with its ranks on one host, from before their start.
//
//   +------------------+ 0
//   | JobHeader        |  constant but for the abort record
//   +------------------+ entries_offset
//   | ProcessEntry × n |  each written by its process (and its exit by mpirun)
//   +------------------+ host_offset (page aligned)
//   | hostmem area     |  wake words and blocks; belongs to hostmem/
//   +------------------+ bytes
//
// A rank inherits it as the file descriptor whose number stands in HAWSER_JOB_FD, and its index in
// HAWSER_JOB_INDEX. Without these a process is a job of one and makes its own.
// Crash safety: no locks. Each entry has one writer; a value is valid once its `published` word was
// stored with release. The abort record is claimed by one compare-and-swap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hawser::bootstrap {

inline constexpr const char* job_fd_variable = "HAWSER_JOB_FD";
inline constexpr const char* job_index_variable = "HAWSER_JOB_INDEX";

inline constexpr std::uint64_t job_segment_magic = 0x315f4a5253574148ULL;  // "HAWSRJ_1"
inline constexpr std::uint32_t job_segment_version = 1;

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
  std::uint32_t size;       // processes of the job
  std::uint64_t job;        // random
  std::uint64_t bytes;      // of the whole segment
  std::uint64_t entries_offset;
  std::uint64_t host_offset;
  std::uint64_t host_bytes;
  std::int32_t launcher_pid;
  std::int32_t host_cores;  // that the ranks share
  std::byte key[32];
  AbortRecord abort;
};

struct PublishedValue {
  std::atomic<std::uint32_t> published;  // 0 free, 1 being written, 2 valid
  std::uint32_t value_bytes;
  char key[32];
  std::byte value[256];
};

struct ProcessEntry {
  static constexpr int values_max = 4;  // addresses of transports

  std::atomic<std::uint32_t> state;  // ProcessState
  std::atomic<std::int32_t> pid;
  std::int32_t app_number;
  std::uint32_t reserved;
  PublishedValue values[values_max];
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace hawser::bootstrap
