// Component: a transport, or the rails of one, in a library of its own, lib/hawser/NAME.so, which
// is opened only when it is wanted, since it needs libraries that not everybody has.
//
// The library exports one C function, hawser_component, that returns the address of its Component.
// Contract and settings pass between the two as C++ objects: both must come from one build, which
// their `build` texts tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "memory/ledger/ledger.hpp"
#include "transport/transport.hpp"

namespace hawser::transport {

/// What a component gets of its process.
struct Services {
  base::Identity self;
  std::array<std::byte, 32> key{};  // the job's
  memory::Ledger* ledger = nullptr;
  Sink* sink = nullptr;
  std::function<std::uint64_t()> clock;  // nanoseconds; never goes back
  int host_file = -1;  // a file that the job's processes on this host have open, and nobody else
};

/// SETTINGS: what a user can set of it.
template <class Settings>
struct Component {
  const char* build;
  /// What it would use here, in words; or why it can't, and what would help.
  base::Result<std::string> (*probe)(const Settings& settings);
  /// One for each of its rails, the preferred one first; one at least.
  base::Result<std::vector<std::unique_ptr<Transport>>> (*open)(const Services& services,
                                                                const Settings& settings);
};

inline constexpr const char* component_symbol = "hawser_component";

}  // namespace hawser::transport
