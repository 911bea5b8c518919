#include "launcher/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.hpp"

namespace hawser::launcher {

namespace {

constexpr std::size_t stack_bytes = 256UL * 1024;

struct ChildTask {
  const SpawnPlan& plan;
  const sigset_t& mask;
  const rlimit& descriptors;
  pid_t parent;
  SpawnStep failed = SpawnStep::none;  // written by the child in our memory
  int error_number = 0;
};

/// Returning from child_main() ends the child, and unlike _exit() without touching our memory.
constexpr int child_failed = 1;

int give_up(ChildTask& task, SpawnStep step) {
  task.failed = step;
  task.error_number = errno;
  return child_failed;
}

/// The child, on a stack of its own but in the parent's memory: system calls only.
int child_main(void* argument) {
  auto& task = *static_cast<ChildTask*>(argument);
  const SpawnPlan& plan = task.plan;
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != task.parent) return child_failed;
  // Binding is a matter of speed; a container that forbids it shall still run the job.
  if (!plan.cores.empty())
    ::sched_setaffinity(0, plan.cores.size_bytes(),
                        reinterpret_cast<const cpu_set_t*>(plan.cores.data()));
  ::dup2(plan.input, STDIN_FILENO);
  ::dup2(plan.output, STDOUT_FILENO);
  ::dup2(plan.error, STDERR_FILENO);
  ::fcntl(plan.job, F_SETFD, 0);
  ::setrlimit(RLIMIT_NOFILE, &task.descriptors);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0)
    return give_up(task, SpawnStep::directory);
  ::sigprocmask(SIG_SETMASK, &task.mask, nullptr);
  ::execvpe(plan.arguments[0], plan.arguments, plan.environment);
  return give_up(task, SpawnStep::execute);
}

}  // namespace

Spawner::Spawner(const sigset_t& mask, const rlimit& descriptors)
    : mask_(mask), descriptors_(descriptors), self_(::getpid()) {
  void* stack = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  HAWSER_ASSERT(stack != MAP_FAILED);
  stack_ = static_cast<std::byte*>(stack);
}

Spawner::~Spawner() { ::munmap(stack_, stack_bytes); }

Spawned Spawner::spawn(const SpawnPlan& plan) const {
  // No handler of ours may run in the child: there is none, all our signals are read from a
  // descriptor.
  ChildTask task{plan, mask_, descriptors_, self_};
  const int pid =
      ::clone(child_main, stack_ + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &task);
  if (pid < 0) return {-1, SpawnStep::clone, errno};
  if (task.failed == SpawnStep::none) return {pid};
  ::waitpid(pid, nullptr, 0);
  return {-1, task.failed, task.error_number};
}

}  // namespace hawser::launcher
