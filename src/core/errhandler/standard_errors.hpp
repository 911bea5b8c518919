// The error classes of the standard, each with one sentence (MPI-5.0 §9.4; MPI_T: chapter 15).
#pragma once

#include <optional>
#include <string_view>

namespace hawser::core {

/// "MPI_ERR_RANK: …"; nothing if CODE is not a class of the standard.
std::optional<std::string_view> standard_error_string(int code);

}  // namespace hawser::core
