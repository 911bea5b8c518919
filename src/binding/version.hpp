// The version of the library, as CMakeLists.txt says it.
#pragma once

namespace hawser::binding {

inline constexpr const char* version = HAWSER_VERSION;

}  // namespace hawser::binding
