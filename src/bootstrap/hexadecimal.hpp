// Bytes as text that every launcher carries unchanged: two lower-case hexadecimal digits a byte.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hawser::bootstrap {

std::string to_hexadecimal(std::span<const std::byte> bytes);
/// Nothing unless TEXT is what to_hexadecimal writes.
std::optional<std::vector<std::byte>> from_hexadecimal(std::string_view text);

}  // namespace hawser::bootstrap
