// Threads of the library's own.
#pragma once

#include <pthread.h>
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

}  // namespace hawser::platform
