// Ranks as PMIx lists them: a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hawser::bootstrap {

/// The numbers in TEXT, which commas separate, in rising order and each once. Nothing if there is
/// something else in it.
std::optional<std::vector<std::uint32_t>> parse_rank_list(std::string_view text);

}  // namespace hawser::bootstrap
