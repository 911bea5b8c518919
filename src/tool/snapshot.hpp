// What a Process has done so far, gathered for a report.
#pragma once

#include <cstdint>

#include "base/parameters.hpp"
#include "session/process.hpp"
#include "tool/statistics.hpp"

namespace hawser::tool {

/// ELAPSED_NS: since the process was initialised. Takes the lane lock.
Statistics take_snapshot(session::Process& process, const base::ParameterRegistry& registry,
                         std::uint64_t elapsed_ns);

}  // namespace hawser::tool
