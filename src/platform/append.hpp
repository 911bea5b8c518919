// Appending to a file that other processes append to at the same time.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hawser::platform {

/// Adds TEXT to the end of the file at PATH, which is made if need be, by one write(2) with
/// O_APPEND: on a local file system the texts of several processes never mix. MPI_ERR_ARG.
base::Result<void> append_to_file(const std::string& path, std::string_view text);

}  // namespace hawser::platform
