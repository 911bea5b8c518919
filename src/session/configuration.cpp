#include "session/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/closest_match.hpp"
#include "session/configuration_file.hpp"

namespace hawser::session {
namespace {

using base::Error;
using base::ErrorClass;
using base::ParameterRegistry;
using base::ParameterSource;
using base::Result;

constexpr std::string_view variable_prefix = "HAWSER_";

constexpr std::array<ReservedVariable, 10> reserved = {{
    {"HAWSER_CONFIG", "configuration file to read instead of hawser.toml; empty: none"},
    {"HAWSER_SET", "parameters given to mpirun --set, one name=value per line"},
    {"HAWSER_JOB_FD", "written by mpirun: descriptor of the job's shared segment"},
    {"HAWSER_JOB_INDEX", "written by mpirun: index of the process in its job"},
    {"HAWSER_PARENT_PORT", "written by MPI_Comm_spawn: the port of the parents of a new job"},
    {"HAWSER_SPAWN_REPORT", "written by MPI_Comm_spawn: descriptor by which its mpirun reports"},
    {"HAWSER_ROOT", "where Hawser is installed, if it was moved after installation"},
    {"HAWSER_CC", "C compiler that mpicc calls"},
    {"HAWSER_CXX", "C++ compiler that mpicxx calls"},
    {"HAWSER_CMD", "written by mpirun: the command line of the program"},
}};

std::optional<std::string_view> variable(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

Error at(std::string_view place, const Error& error) {
  return {ErrorClass::arg, fmt::format("{}: {}", place, error.sentence())};
}

std::optional<std::string> default_file(const char* const* environment) {
  const std::string_view config_home = variable(environment, "XDG_CONFIG_HOME").value_or("");
  const std::string_view home = variable(environment, "HOME").value_or("");
  std::string path;
  if (!config_home.empty()) {
    path = fmt::format("{}/hawser.toml", config_home);
  } else if (!home.empty()) {
    path = fmt::format("{}/.config/hawser.toml", home);
  }
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}

Result<void> load_file(ParameterRegistry& registry, const char* const* environment) {
  if (const auto named = variable(environment, "HAWSER_CONFIG")) {
    if (named->empty()) return {};
    return load_configuration_file(registry, std::string(*named));
  }
  if (const auto path = default_file(environment)) return load_configuration_file(registry, *path);
  return {};
}

bool is_reserved(std::string_view name) {
  return std::any_of(reserved.begin(), reserved.end(),
                     [name](const ReservedVariable& entry) { return entry.name == name; });
}

Error unknown_variable(const ParameterRegistry& registry, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& parameter : registry.describe()) known.push_back(parameter.environment_name);
  for (const ReservedVariable& entry : reserved) known.emplace_back(entry.name);
  return {ErrorClass::arg, fmt::format("the environment variable {} names no parameter{}", name,
                                       base::did_you_mean(name, known))};
}

Result<void> load_environment(ParameterRegistry& registry, const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(variable_prefix) || equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (is_reserved(name)) continue;
    const std::optional<std::string> parameter = registry.name_of_variable(name);
    if (!parameter) return unknown_variable(registry, name);
    const Result<void> result =
        registry.set(*parameter, entry.substr(equals + 1), ParameterSource::environment, name);
    if (!result.ok()) return at(fmt::format("environment variable {}", name), result.error());
  }
  return {};
}

Result<void> load_command_line(ParameterRegistry& registry, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    if (line.empty()) continue;
    const std::string place = fmt::format("mpirun --set {}", line);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return Error(ErrorClass::arg, fmt::format("{}: there is no '='; write name=value", place));
    const Result<void> result = registry.set(line.substr(0, equals), line.substr(equals + 1),
                                             ParameterSource::command_line, place);
    if (!result.ok()) return at(place, result.error());
  }
  return {};
}

}  // namespace

std::span<const ReservedVariable> reserved_variables() { return reserved; }

Result<void> load_configuration(ParameterRegistry& registry, const char* const* environment) {
  HAWSER_TRY(load_file(registry, environment));
  HAWSER_TRY(load_environment(registry, environment));
  return load_command_line(registry, variable(environment, "HAWSER_SET").value_or(""));
}

}  // namespace hawser::session
