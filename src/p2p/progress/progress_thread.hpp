// ProgressThread: a thread of the library that drives an engine while the program does not, so that
// what is under way goes on though nobody calls MPI (strong progress).
//
// Ownership: borrows the engine, which is threaded (Engine::set_threaded) as long as this lives,
// and
//            attended. The destructor ends the thread.
// Threads:   made and ended by one thread. No signal is delivered to it, and no user code runs in
// it. Fork:      in a child there is no such thread; ending one there has no effect.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>

#include "p2p/engine.hpp"

namespace hawser::p2p {

class ProgressThread {
 public:
  /// BY: what it is woken by, besides the process's wake word.
  ProgressThread(Engine& engine, WakeBy by);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  Engine& engine_;
  std::atomic<bool> is_dismissed_{false};
  const pid_t started_by_;
  std::thread thread_;
};

}  // namespace hawser::p2p
