// What a user can set of the TCP transport ("tcp.*"), with its defaults.
#pragma once

#include <cstdint>
#include <string>

#include "transport/transport.hpp"

namespace hawser::transport::tcp {

struct Settings {
  std::string include = {};     // interfaces and subnets that others may reach us by; empty: all
  std::string exclude = {};     // of those, the ones that they may not
  bool encrypt = false;         // all that crosses connections; the same for all processes
  std::int64_t timeout_s = 15;  // how long a peer may be out of reach before it is lost
  /// How long a connection is unused before both sides do without it; 0: they never do. Long
  /// enough that a program which computes for a while between two exchanges keeps its connections,
  /// as a new one costs three round trips; short enough that those of its beginning alone are gone
  /// soon.
  std::int64_t idle_s = 300;
  std::int64_t rails = transport::rails_max;  // interfaces that connections with one peer leave by
  std::int64_t connections_max = 0;           // peers connected at a time; 0: as descriptors allow
};

}  // namespace hawser::transport::tcp
