// What launchers leave in the environment of the processes that they start.
//
// Threads: none others that touch the environment; called while a process connects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace hawser::bootstrap {

/// The value of variable NAME, which is no longer in the environment from now on: a program that
/// this process starts is not the same rank once more.
std::optional<std::string> take_variable(const char* name);

/// Takes all variables out of it whose names begin with PREFIX.
void take_variables(std::string_view prefix);
/// There is one.
bool has_variables(std::string_view prefix);

/// TEXT, the value of variable NAME, as a number from 0 to INT32_MAX.
base::Result<std::uint32_t> parse_variable(const char* name, const std::string& text);

}  // namespace hawser::bootstrap
