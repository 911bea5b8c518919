// The TOML file of parameters; a private part of configuration.hpp.
#pragma once

#include <string>

#include "base/parameters.hpp"
#include "base/result.hpp"

namespace hawser::session {

/// Sets the parameters that the file at PATH, which must exist, names: "[shm] queue_slots = 512" is
/// the parameter shm.queue_slots.
base::Result<void> load_configuration_file(base::ParameterRegistry& registry,
                                           const std::string& path);

}  // namespace hawser::session
