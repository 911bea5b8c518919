// Name spaces of the kernel, in which processes of one host may be apart (containers).
//
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "platform/file.hpp"

namespace hawser::platform {

/// What a number of this process's name spaces stands for.
enum class NameSpace : std::uint8_t {
  pid,     // within it, process numbers mean the same
  network  // within it, abstract sockets are found
};

/// A number that processes of this host have in common if they share the name space, and no others
/// (but by a chance of one in 2^64); never 0. Nothing where the host does not tell.
std::optional<std::uint64_t> name_space(NameSpace kind);

/// Opens what process PID has open as descriptor NUMBER once more, to read and write; closed on
/// exec.
Result<FileDescriptor> open_descriptor_of(pid_t pid, int number);

}  // namespace hawser::platform
