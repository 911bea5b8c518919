// `hawser info --rules`: the chains of rules by which channels are chosen and earned, as this
// configuration has them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "channel/policy/policy.hpp"

namespace hawser::tools {

/// Both chains as numbered lines; the error says what is wrong with a rule.
base::Result<std::string> rules_text(const channel::PolicySettings& settings);

}  // namespace hawser::tools
