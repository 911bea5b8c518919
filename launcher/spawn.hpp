// Spawner: starts the processes of the ranks.
//
// It clones like vfork (the child borrows our memory until exec), so that a start costs the same
// however large we are, and a failed exec is known when spawn() returns. posix_spawn can't ask for
// the parent-death signal, hence our own.
// In the child: its own process group, SIGKILL when mpirun dies (with a check for a mpirun that
// died before), its cores, its descriptors, its directory, the signal mask and the limits that
// mpirun itself was started with. Session: one for all ranks, apart from the terminal's. Linux
// weighs sessions against each other
//          (sched_autogroup); with one each, a rank that yields would not let the others of its
//          core run. A session is inherited, so a helper that leads it, the keeper, makes the
//          clones, with mpirun as their parent (CLONE_PARENT). It borrows our memory and
//          descriptors, acts only while spawn() waits for it, and ends with the Spawner.
// Threads: one; the parent-death signal is tied to the thread that spawns.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
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

  [[nodiscard]] Spawned spawn(const SpawnPlan& plan);

 private:
  struct Task;
  struct Keeper;
  static int become_rank(void* task);
  static int keep(void* keeper);
  void start_keeper();

  const sigset_t mask_;
  const rlimit descriptors_;
  const pid_t self_;
  std::byte* stacks_;  // the keeper's and the child's
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace hawser::launcher
