// Statistics as one line of JSON, and back. The format is described in README.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tool/statistics.hpp"

namespace hawser::tool {

/// Raised when a reader of the old format would misread the new one.
inline constexpr int statistics_format = 1;

/// Ends with a newline and has no other.
std::string to_json_line(const Statistics& statistics);
/// MPI_ERR_ARG with what is missing or wrong.
base::Result<Statistics> from_json_line(std::string_view line);

}  // namespace hawser::tool
