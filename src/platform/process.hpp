// Other processes of this host: are they alive, how many cores may we use, reading their memory.
#pragma once

#include <sys/types.h>

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

/// Cores that this process may run on (its affinity mask).
int usable_cores();
/// The host's name as uname(2) tells it.
std::string host_name();

/// A handle to process PID that tells its death apart from a reuse of its number.
FileDescriptor open_process(pid_t pid);
/// False once the process behind PIDFD has ended (zombies count as ended).
bool is_running(const FileDescriptor& pidfd);

/// Copies from another process (process_vm_readv): all pieces of REMOTE, in order, into the pieces
/// of LOCAL. Returns the bytes copied, or the error number negated.
std::int64_t read_memory(pid_t pid, std::span<const MemoryPiece> local,
                         std::span<const MemoryPiece> remote);

}  // namespace hawser::platform
