// Which components this build has, and which of them this host and process can use.
#pragma once

#include <string>
#include <vector>

namespace hawser::session {

struct ComponentStatus {
  std::string name;
  std::string kind;  // "transport", "tagged", "bootstrap"
  bool usable = false;
  std::string sentence;  // why, or why not and what would help
};

/// Finds out by trying, with nothing left behind.
std::vector<ComponentStatus> probe_components();

}  // namespace hawser::session
