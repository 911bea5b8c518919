#include "platform/process.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace hawser::platform {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return CPU_COUNT(&set);
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.nodename) : std::string("localhost");
}

FileDescriptor open_process(pid_t pid) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool is_running(const FileDescriptor& pidfd) {
  pollfd query{pidfd.get(), POLLIN, 0};
  return ::poll(&query, 1, 0) == 0;
}

std::int64_t read_memory(pid_t pid, std::span<const MemoryPiece> local,
                         std::span<const MemoryPiece> remote) {
  // A MemoryPiece has the layout of an iovec on 64-bit Linux; the copy keeps it a fact, not a hope.
  constexpr std::size_t pieces_max = 64;
  std::array<iovec, pieces_max> to{};
  std::array<iovec, pieces_max> from{};
  const std::size_t to_count = std::min(local.size(), pieces_max);
  const std::size_t from_count = std::min(remote.size(), pieces_max);
  const auto convert = [](const MemoryPiece& piece) {
    return iovec{reinterpret_cast<void*>(piece.address), piece.bytes};  // NOLINT
  };
  std::transform(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(to_count), to.begin(),
                 convert);
  std::transform(remote.begin(), remote.begin() + static_cast<std::ptrdiff_t>(from_count),
                 from.begin(), convert);
  const ssize_t copied =
      ::process_vm_readv(pid, to.data(), to_count, from.data(), from_count, 0);
  return copied < 0 ? -static_cast<std::int64_t>(errno) : static_cast<std::int64_t>(copied);
}

}  // namespace hawser::platform
