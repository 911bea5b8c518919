// What a user probably meant, for the errors that refuse a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hawser::base {

/// The one of CANDIDATES with the smallest edit distance to TEXT, unless all are too far away to be
/// what was meant.
std::optional<std::string> closest_match(std::string_view text,
                                         const std::vector<std::string>& candidates);

/// "; did you mean 'X'?" with the closest match, or nothing.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace hawser::base
