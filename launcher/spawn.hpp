// Spawner: starts the process of one rank.
//
// It clones like vfork (the child borrows our memory until exec), so that a start costs the same
// however large we are, and a failed exec is known when spawn() returns. posix_spawn can't ask for
// the parent-death signal, hence our own.
// In the child: its own session and process group, SIGKILL when mpirun dies (with a check for a
// mpirun that died before), its cores, its descriptors, its directory, the signal mask and the
// limits that mpirun itself was started with.
// Threads: one; the parent-death signal is tied to the thread that spawns.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace hawser::launcher {

/// What the child needs, all of it prepared, because it must not allocate.
struct SpawnPlan {
  char* const* arguments;
  char* const* environment;
  const char* directory;  // null: stay
  int input;
  int output;
  int error;
  int job;                               // stays open in the program
  std::span<const unsigned long> cores;  // affinity mask; empty: any
};

enum class SpawnStep : std::uint8_t { none, clone, directory, execute };

struct Spawned {
  pid_t pid = -1;
  SpawnStep failed = SpawnStep::none;
  int error_number = 0;
};

class Spawner {
 public:
  /// MASK and DESCRIPTORS are what programs get.
  Spawner(const sigset_t& mask, const rlimit& descriptors);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  [[nodiscard]] Spawned spawn(const SpawnPlan& plan) const;

 private:
  const sigset_t mask_;
  const rlimit descriptors_;
  const pid_t self_;
  std::byte* stack_;
};

}  // namespace hawser::launcher
