// What the control groups of this process allow it, version 1 and 2.
//
// A limit holds for all groups up to the root; the smallest counts. ROOT is put before all paths,
// for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hawser::platform {

/// The first line of a file without its newline; nothing if it cannot be read.
std::optional<std::string> read_line(const std::string& path);
/// The whole of TEXT as a number.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Cores' worth of time per time.
std::optional<double> cgroup_cores_max(const std::string& root = "");
std::optional<std::uint64_t> cgroup_memory_bytes_max(const std::string& root = "");

}  // namespace hawser::platform
