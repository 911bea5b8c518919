// Other processes of this host: are they alive, how many cores may we use, reading and
// writing their memory.
#pragma once

#include <sys/types.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "platform/file.hpp"

namespace hawser::platform {

/// A piece of memory, here or in another process.
struct MemoryPiece {
  std::uint64_t address;
  std::uint64_t bytes;
};

/// Cores by their number, as many as the C library's own sets have.
using CoreSet = std::bitset<1024>;
/// Cores that this process may run on (its affinity mask).
int usable_cores();
/// Which ones these are; the first ones where there are more than the set can name.
CoreSet usable_core_set();
/// The same, but no more than the quota of the control group gives time of; at least 1.
int granted_cores();
/// The host's name as uname(2) tells it.
std::string host_name();

/// When process PID started, in the kernel's ticks: with the pid it names one process for ever,
/// without a descriptor. 0 if there is none or it has ended (zombies count as ended).
std::uint64_t start_time(pid_t pid);

/// Copies from another process (process_vm_readv): the pieces of REMOTE, in order, into the pieces
/// of LOCAL. Returns the bytes copied, which may be fewer (one call takes 64 pieces of each), or
/// the error number negated.
std::int64_t read_memory(pid_t pid, std::span<const MemoryPiece> local,
                         std::span<const MemoryPiece> remote);

/// The same the other way (process_vm_writev): the pieces of LOCAL into those of REMOTE. A piece of
/// either is copied before the next one.
std::int64_t write_memory(pid_t pid, std::span<const MemoryPiece> local,
                          std::span<const MemoryPiece> remote);

/// Whether WORD stands at ADDRESS in the memory of process PID: a random one proves that PID is the
/// process that told us (a number may be another's, in another name space), and that we may read
/// it.
bool holds_word(pid_t pid, std::uint64_t address, std::uint64_t word);

}  // namespace hawser::platform
