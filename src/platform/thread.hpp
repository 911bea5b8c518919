// Threads of the library's own.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace hawser::platform {

/// A thread that no signal is delivered to: those are for the program's threads.
template <class Body>
std::thread quiet_thread(Body&& body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Body>(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// What tools (top, gdb) call the calling thread: at most 15 characters.
inline void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

/// The core that the calling thread runs on at the moment; negative if that is not to be had.
inline int current_core() { return ::sched_getcpu(); }

/// Moves the calling thread to CORE (>= 0), which it may leave again. False: it may not run there.
inline bool move_this_thread(int core) {
  cpu_set_t given;
  if (core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof(given), &given) != 0 ||
      !CPU_ISSET(core, &given))
    return false;
  cpu_set_t there;
  CPU_ZERO(&there);
  CPU_SET(core, &there);
  if (::sched_setaffinity(0, sizeof(there), &there) != 0) return false;
  ::sched_setaffinity(0, sizeof(given), &given);
  return true;
}

/// Keeps the thread that makes it off one core at a time, if there are others that it may run on:
/// those that it was given when it made this.
class OtherCores {
 public:
  OtherCores() : is_told_(::sched_getaffinity(0, sizeof(given_), &given_) == 0) {}
  /// A negative CORE: off none.
  void avoid(int core) {
    if (core == avoided_ || !is_told_) return;
    avoided_ = core;
    cpu_set_t others = given_;
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &others);
    if (CPU_COUNT(&others) > 0) ::sched_setaffinity(0, sizeof(others), &others);
  }

 private:
  cpu_set_t given_{};
  const bool is_told_;
  int avoided_ = -1;
};

}  // namespace hawser::platform
