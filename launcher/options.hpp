// Options: what the command line of mpirun asks for.
//
// The usual spellings of other launchers are understood: -np and -c, -x NAME=VALUE, -env and -genv
// NAME VALUE, -wdir, -l, and any long option with one dash.
// Threads: values; parsing touches nothing outside.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace hawser::launcher {

using base::Error;
using base::ErrorClass;
using base::Result;

/// One of the programs between the colons.
struct Program {
  std::uint32_t processes = 1;
  std::vector<std::string> command;
  /// NAME and VALUE; for all processes of this program.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  // empty: where mpirun is
};

enum class BindTo : std::uint8_t { automatic, core, none };

struct Options {
  std::vector<Program> programs;
  BindTo bind_to = BindTo::automatic;
  bool tag_output = false;
  bool verbose = false;
  bool keep_going = false;            // the death of a rank ends nobody else
  std::uint64_t timeout_ns = 0;       // 0: none
  std::vector<std::string> settings;  // "key=value"

  [[nodiscard]] std::uint32_t processes() const;
  /// The index in `programs` of the one that RANK runs.
  [[nodiscard]] std::uint32_t program_of(std::uint32_t rank) const;
};

/// Options, or a text for standard output (--help, --version) after which mpirun has done its work.
struct CommandLine {
  Options options;
  std::optional<std::string> text;
};

/// Parses ARGUMENTS, which do not begin with the name of mpirun itself.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments);

}  // namespace hawser::launcher
