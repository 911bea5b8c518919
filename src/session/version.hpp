// Which Hawser this is, and which ABI it offers.
#pragma once

#include <string_view>

namespace hawser::session {

/// "MAJOR.MINOR.PATCH" of the project.
std::string_view version();

/// The version of the MPI standard whose ABI libmpi_abi.so.1 has.
inline constexpr std::string_view standard_version = "5.0";
inline constexpr int abi_major = 1;
inline constexpr int abi_minor = 0;

}  // namespace hawser::session
