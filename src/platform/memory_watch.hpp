// MemoryWatch: hears which memory of this process is no longer what it was: unmapped, moved away,
// or discarded, by whatever thread and whatever call (but see watch()). userfaultfd(2) tells it; no
// page is ever protected, so that no access to memory is held up.
//
// Whoever changes watched memory waits in the kernel until that was read. A thread here reads, and
// so does everyone who asks. What was read is kept in a ring, under a mutex under which nobody
// allocates, frees, maps or waits: who waits for the reader may hold the lock of the heap, or any
// of the program's. A change whose call has returned has been read under that mutex, so that
// take(), which locks it, gives it.
//
// In a child of fork() nothing is watched. Not to be used, nor watched memory to be changed, in
// signal handlers.
// Ownership: of the descriptor and its thread. Threads: any. Errors: sentences with the kernel's
// reason.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "platform/file.hpp"

namespace hawser::platform {

enum class MemoryChange : std::uint8_t { unmapped, moved, discarded };

/// Whole pages that changed.
struct ChangedMemory {
  std::uintptr_t begin;
  std::uintptr_t end;
  MemoryChange change;
};

/// Changes that are kept for those who have not asked for them yet.
inline constexpr std::size_t memory_changes_max = 4096;

/// Hears of changes without asking.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  /// On a thread of the watch, after something has changed. Must neither allocate nor free, nor
  /// wait for anybody.
  virtual void on_memory_change() = 0;

 private:
  friend class MemoryWatch;
  MemoryListener* next_ = nullptr;
};

class MemoryWatch {
 public:
  static Result<std::unique_ptr<MemoryWatch>> start();
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// From now on changes of the pages around MEMORY are told. Stays so until they are unmapped.
  /// The kernel refuses read-only shared mappings of files, and what another userfaultfd has. It
  /// tells nothing of shmdt(2), nor of files that are cut or get holes by their descriptors.
  Result<void> watch(std::span<const std::byte> memory);
  /// Returns when no change is under way that began before: the kernel gives addresses away again
  /// before it tells that they were unmapped.
  void settle();
  /// A place in the order of changes behind all that are known.
  [[nodiscard]] std::uint64_t position();
  /// The changes after *POSITION, which moves behind them; 0: there are no more. Who lags behind by
  /// more than memory_changes_max gets the whole address space in their place.
  std::size_t take(std::uint64_t* position, std::span<ChangedMemory> out);
  /// LISTENER is told of changes until ignore() has returned.
  void listen(MemoryListener& listener);
  void ignore(MemoryListener& listener);
  /// In a child of fork(): what is left does nothing.
  void lose();

 private:
  explicit MemoryWatch(FileDescriptor descriptor);
  Result<void> watch_page_of_ours();
  [[nodiscard]] bool is_changing() const;
  void run();
  void tell();
  void read_changes();
  void keep(const ChangedMemory& changed);

  FileDescriptor descriptor_;
  FileDescriptor ending_;  // readable when the thread is to end
  Mapping page_;           // watched, and never changed: settle() asks by it
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;         // of what follows, and of reading the descriptor
  std::uint64_t count_ = 0;  // of all changes so far
  std::array<ChangedMemory, memory_changes_max> ring_{};
  std::mutex listeners_mutex_;  // of the list, which takes no memory; held while they are told
  MemoryListener* listeners_ = nullptr;
  std::thread thread_;
};

}  // namespace hawser::platform
