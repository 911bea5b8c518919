// Verbosity: whom a parameter or a counter is for, and how much they want to see (MPI-5.0 §15.3.1).
#pragma once

#include <cstdint>

namespace hawser::base {

/// From what everybody should see to what only developers of Hawser ask for.
enum class Verbosity : std::uint8_t {
  user_basic,
  user_detail,
  user_all,
  tuner_basic,
  tuner_detail,
  tuner_all,
  developer_basic,
  developer_detail,
  developer_all
};

}  // namespace hawser::base
