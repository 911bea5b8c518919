// What a user can set of the TCP transport ("tcp.*"), with its defaults.
#pragma once

#include <cstdint>
#include <string>

namespace hawser::transport::tcp {

struct Settings {
  std::string include = {};     // interfaces and subnets that others may reach us by; empty: all
  std::string exclude = {};     // of those, the ones that they may not
  bool encrypt = false;         // all that crosses connections; the same for all processes
  std::int64_t timeout_s = 15;  // how long a peer may be out of reach before it is lost
};

}  // namespace hawser::transport::tcp
