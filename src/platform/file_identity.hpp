// Which file a descriptor is, across the processes of a host and between hosts.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>

namespace hawser::platform {

/// A number that all processes get that have the file of DESCRIPTOR open under the same kernel, and
/// no others (but by a chance of one in 2^64); never 0. Nothing where the host does not tell.
std::optional<std::uint64_t> file_identity(int descriptor);

}  // namespace hawser::platform
