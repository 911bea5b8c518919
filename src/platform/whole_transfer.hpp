// Reading and writing all of some bytes by a descriptor of the user's, whatever its mode.
#pragma once

#include <cstddef>
#include <span>

namespace hawser::platform {

// Wait as long as it takes. False: the other side has closed it, or it can't be used so.
bool write_whole(int descriptor, std::span<const std::byte> bytes);
bool read_whole(int descriptor, std::span<std::byte> bytes);

}  // namespace hawser::platform
