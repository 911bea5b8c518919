#include "hawser/info.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "hawser/rules.hpp"
#include "hawser/table.hpp"
#include "session/configuration.hpp"
#include "session/settings.hpp"
#include "session/version.hpp"

namespace hawser::tools {
namespace {

using base::ParameterDescription;
using base::ParameterSource;

constexpr const char* library_name = "libmpi_abi.so.1";

std::string shown(const std::string& value) { return value.empty() ? "''" : value; }

/// "the default", or what the default is and who changed it.
std::string default_text(const ParameterDescription& parameter) {
  if (parameter.source == ParameterSource::default_value) return "the default";
  return fmt::format("default {}, from {}{}{}", shown(parameter.default_text),
                     base::source_name(parameter.source), parameter.origin.empty() ? "" : " ",
                     parameter.origin);
}

bool is_of_job(const ParameterDescription& parameter) {
  return parameter.handling.scope == base::ParameterScope::job;
}

std::string component_section(const Information& information) {
  Table table({{"component"}, {"kind"}, {"usable"}, {"why"}});
  for (const session::ComponentStatus& component : information.components) {
    table.add_row(
        {component.name, component.kind, component.usable ? "yes" : "no", component.sentence});
  }
  return "\nComponents\n" + table.text();
}

std::string parameter_section(const Information& information, bool all) {
  std::string text = "\nParameters\n";
  for (const ParameterDescription& parameter : information.parameters) {
    const std::string unit = parameter.unit.empty() ? "" : fmt::format(" {}", parameter.unit);
    text += fmt::format("  {} = {}{}  ({}, {})\n      {}\n", parameter.name,
                        shown(parameter.current_text), unit, parameter.type,
                        default_text(parameter), parameter.sentence);
    if (all) {
      text += fmt::format("      Takes {}; environment variable {}.{}{}\n", parameter.expected,
                          parameter.environment_name,
                          is_of_job(parameter) ? " The same for all ranks of a job." : "",
                          parameter.handling.changes_at_run_time ? " May change at run time." : "");
    }
  }
  return text;
}

std::string reserved_section() {
  Table table({{"variable"}, {"what"}});
  for (const session::ReservedVariable& entry : session::reserved_variables())
    table.add_row({std::string(entry.name), std::string(entry.sentence)});
  return "\nOther environment variables\n" + table.text();
}

}  // namespace

std::string info_text(const Information& information, bool all) {
  return fmt::format("Hawser {}, MPI {}, ABI {}.{} ({})\n", session::version(),
                     session::standard_version, session::abi_major, session::abi_minor,
                     library_name) +
         component_section(information) + parameter_section(information, all) +
         (all ? reserved_section() : "");
}

std::string info_json(const Information& information) {
  using Json = nlohmann::ordered_json;
  Json components = Json::array();
  for (const session::ComponentStatus& component : information.components) {
    components.push_back({{"name", component.name},
                          {"kind", component.kind},
                          {"usable", component.usable},
                          {"sentence", component.sentence}});
  }
  Json parameters = Json::array();
  for (const ParameterDescription& parameter : information.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"type", parameter.type},
                          {"unit", parameter.unit},
                          {"expected", parameter.expected},
                          {"default", parameter.default_text},
                          {"value", parameter.current_text},
                          {"source", base::source_name(parameter.source)},
                          {"origin", parameter.origin},
                          {"variable", parameter.environment_name},
                          {"scope", is_of_job(parameter) ? "job" : "process"},
                          {"changes_at_run_time", parameter.handling.changes_at_run_time},
                          {"sentence", parameter.sentence}});
  }
  const Json document = {{"version", session::version()},
                         {"mpi", session::standard_version},
                         {"abi", fmt::format("{}.{}", session::abi_major, session::abi_minor)},
                         {"components", components},
                         {"parameters", parameters}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

int run_info(const InfoOptions& options, const char* const* environment) {
  session::Settings settings;
  base::ParameterRegistry registry;
  session::register_all_parameters(registry, settings);
  base::Result<void> result = session::load_configuration(registry, environment);
  if (options.rules) {
    const base::Result<std::string> rules = rules_text(settings.channel);
    if (rules.ok()) fmt::print("{}", *rules);
    if (!rules.ok() && result.ok()) result = rules.error();
  } else {
    const Information information = {session::probe_components(), registry.describe()};
    fmt::print("{}", options.json ? info_json(information) : info_text(information, options.all));
  }
  if (result.ok()) return 0;
  std::fflush(stdout);
  fmt::print(stderr, "hawser info: {}\n", result.error().sentence());
  return 1;
}

}  // namespace hawser::tools
