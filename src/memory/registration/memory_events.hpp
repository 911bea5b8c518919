// MemoryEvents: tells a registration cache of this process's memory before it is unmapped, moved or
// discarded, by whatever thread. libucm of UCX tells it, which patches munmap, mremap, madvise,
// brk, sbrk, shmdt, and what maps over something, also where the heap calls them.
//
// It is opened at run time, as part of libucs of UCX, without which it can't be loaded. Opening
// that would catch the signals of crashes and SIGHUP; the program's own handlers are put back. A
// program that uses UCX itself has both already: handlers of events stand side by side.
//
// Not told, as by every such hook: system calls past libc, a file that is cut or gets holes under
// its mapping, and what other processes do (process_madvise).
//
// It patches code while the process runs: a thread that unmaps memory meanwhile may execute half an
// instruction (newer versions of UCX make that rarer: its pull request 9148). So the patching is a
// step of its own, prepare(), for a time when no other thread is at work.
//
// Ownership: borrows the cache, which outlives it. The hooks stay in the process's code until that
//            ends; where nobody listens they cost a lock that readers share.
// Threads:   prepare() while no other thread unmaps memory, frees some or ends; start and end under
//            no lock that an event's thread may wait for; events come in the thread that causes
//            them. Errors: a sentence with cause and cure.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "memory/registration/registration_cache.hpp"

namespace hawser::memory {

struct UcmFunctions;
union UcmEvent;

class MemoryEvents {
 public:
  /// Loads libucm and has it patch all that start() needs: that one changes no code then.
  static Result<void> prepare();
  /// From now on CACHE hears of memory that goes. No error means that an event was seen to come.
  static Result<std::unique_ptr<MemoryEvents>> start(RegistrationCache& cache);
  ~MemoryEvents();
  MemoryEvents(const MemoryEvents&) = delete;
  MemoryEvents& operator=(const MemoryEvents&) = delete;

 private:
  MemoryEvents(RegistrationCache& cache, std::unique_ptr<const UcmFunctions> ucm);
  [[nodiscard]] Result<void> check() const;
  static void on_event(int type, UcmEvent* event, void* self);
  void tell(int type, const UcmEvent& event);

  RegistrationCache& cache_;
  const std::unique_ptr<const UcmFunctions> ucm_;
  std::atomic<bool> has_heard_ = false;  // of anything
};

}  // namespace hawser::memory
