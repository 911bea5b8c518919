#include "launcher/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/assert.hpp"
#include "platform/file.hpp"

namespace hawser::launcher {

namespace {

constexpr std::size_t stack_bytes = 256UL * 1024;

/// Returning from become_rank() ends the child, and unlike _exit() without touching our memory.
constexpr int child_failed = 1;

using Pipe = std::array<platform::FileDescriptor, 2>;  // to read, to write

Pipe make_pipe() {
  std::array<int, 2> fds{-1, -1};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return {};
  return {platform::FileDescriptor(fds[0]), platform::FileDescriptor(fds[1])};
}

bool write_note(const Pipe& pipe) {
  const char note = 0;
  return ::write(pipe[1].get(), &note, sizeof(note)) == sizeof(note);
}
bool read_note(const Pipe& pipe) {
  char note = 0;
  ssize_t got = -1;
  do {
    got = ::read(pipe[0].get(), &note, sizeof(note));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(note);
}

}  // namespace

/// What the child is to do.
struct Spawner::Task {
  const SpawnPlan& plan;
  const sigset_t& mask;
  const rlimit& descriptors;
  pid_t parent;
  SpawnStep failed = SpawnStep::none;  // written by the child in our memory
  int error_number = 0;

  int give_up(SpawnStep step) {
    failed = step;
    error_number = errno;
    return child_failed;
  }
};

/// The child, on a stack of its own but in the parent's memory: system calls only.
int Spawner::become_rank(void* argument) {
  auto& task = *static_cast<Task*>(argument);
  const SpawnPlan& plan = task.plan;
  ::setpgid(0, 0);
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
    return task.give_up(SpawnStep::directory);
  ::sigprocmask(SIG_SETMASK, &task.mask, nullptr);
  ::execvpe(plan.arguments[0], plan.arguments, plan.environment);
  return task.give_up(SpawnStep::execute);
}

/// What spawn() and the keeper pass to and fro; one of them waits at any time.
struct Spawner::Keeper {
  pid_t parent = ::getpid();
  pid_t pid = -1;
  int error_number = 0;  // why there is none
  Pipe requests = make_pipe();
  Pipe answers = make_pipe();
  std::byte* child_stack_end = nullptr;
  Task* task = nullptr;  // the request; null: end
  int child = -1;        // the answer
  int child_error = 0;
};

/// The keeper, on a stack of its own but in the parent's memory: system calls only.
int Spawner::keep(void* keeper) {
  auto& self = *static_cast<Keeper*>(keeper);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != self.parent) return 0;
  while (read_note(self.requests) && self.task != nullptr) {
    self.child = ::clone(become_rank, self.child_stack_end,
                         CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, self.task);
    self.child_error = errno;
    if (!write_note(self.answers)) break;
  }
  return 0;
}

Spawner::Spawner(const sigset_t& mask, const rlimit& descriptors)
    : mask_(mask), descriptors_(descriptors), self_(::getpid()) {
  void* stacks = ::mmap(nullptr, 2 * stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  HAWSER_ASSERT(stacks != MAP_FAILED);
  stacks_ = static_cast<std::byte*>(stacks);
}

Spawner::~Spawner() {
  if (keeper_ && keeper_->pid > 0) {
    keeper_->task = nullptr;
    write_note(keeper_->requests);
    ::waitpid(keeper_->pid, nullptr, 0);
  }
  ::munmap(stacks_, 2 * stack_bytes);
}

void Spawner::start_keeper() {
  keeper_ = std::make_unique<Keeper>();
  keeper_->child_stack_end = stacks_ + 2 * stack_bytes;
  if (!keeper_->requests[0].is_open() || !keeper_->answers[0].is_open()) {
    keeper_->error_number = errno;
    return;
  }
  keeper_->pid =
      ::clone(keep, stacks_ + stack_bytes, CLONE_VM | CLONE_FILES | SIGCHLD, keeper_.get());
  if (keeper_->pid < 0) keeper_->error_number = errno;
}

Spawned Spawner::spawn(const SpawnPlan& plan) {
  if (!keeper_) start_keeper();
  if (keeper_->pid < 0) return {-1, SpawnStep::clone, keeper_->error_number};
  // No handler of ours may run in the child: there is none, all our signals are read from a
  // descriptor.
  Task task{plan, mask_, descriptors_, self_};
  keeper_->task = &task;
  if (!write_note(keeper_->requests) || !read_note(keeper_->answers))
    return {-1, SpawnStep::clone, errno};
  if (keeper_->child < 0) return {-1, SpawnStep::clone, keeper_->child_error};
  if (task.failed == SpawnStep::none) return {keeper_->child};
  ::waitpid(keeper_->child, nullptr, 0);
  return {-1, task.failed, task.error_number};
}

}  // namespace hawser::launcher
