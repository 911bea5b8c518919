// Configuration: where parameters get their values from, in rising precedence.
//
//   file          the TOML file that HAWSER_CONFIG names; else hawser.toml in $XDG_CONFIG_HOME or
//                 in $HOME/.config, if there is one. Tables are the words of a parameter's name.
//   environment   HAWSER_SHM_QUEUE_SLOTS for "shm.queue_slots", and so on
//   command line  lines of name=value in HAWSER_SET, which mpirun writes for its --set
//
// A name that starts with HAWSER_ and is neither a parameter nor reserved is an error: a misspelled
// setting must not be ignored.
#pragma once

#include <span>
#include <string_view>

#include "base/parameters.hpp"
#include "base/result.hpp"

namespace hawser::session {

/// A variable that starts with HAWSER_ and is no parameter.
struct ReservedVariable {
  std::string_view name;
  std::string_view sentence;
};
std::span<const ReservedVariable> reserved_variables();

/// Sets the parameters of REGISTRY. ENVIRONMENT is like environ(7): "NAME=value" strings and a null
/// pointer. The first thing that is wrong is the error (MPI_ERR_ARG), with file and line or
/// variable.
base::Result<void> load_configuration(base::ParameterRegistry& registry,
                                      const char* const* environment);

}  // namespace hawser::session
