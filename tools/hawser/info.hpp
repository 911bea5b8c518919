// `hawser info`: version, components and parameters of this installation, here and now.
#pragma once

#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "session/components.hpp"

namespace hawser::tools {

/// Everything that there is to show.
struct Information {
  std::vector<session::ComponentStatus> components;
  std::vector<base::ParameterDescription> parameters;
};

/// ALL adds what a user of the defaults need not see: bounds, variables, reserved variables.
std::string info_text(const Information& information, bool all);
std::string info_json(const Information& information);

struct InfoOptions {
  bool all = false;
  bool json = false;
  bool rules = false;  // only the rules of channels
};
/// Prints to standard output; returns the exit code: 1 if the configuration is wrong, which is then
/// said on standard error.
int run_info(const InfoOptions& options, const char* const* environment);

}  // namespace hawser::tools
