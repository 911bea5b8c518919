// Looking for a program in a list of folders.
#pragma once

#include <string>
#include <string_view>

namespace hawser::platform {

/// NAME in the first of FOLDERS (between colons) that has an executable file of it; NAME itself if
/// none has, or if it contains a slash.
std::string find_program(const std::string& name, std::string_view folders);
/// There is a file at PATH that this process could execute.
bool is_program(const std::string& path);

}  // namespace hawser::platform
