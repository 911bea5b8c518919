#include "launcher/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "session/configuration.hpp"
#include "session/settings.hpp"

namespace hawser::launcher {

Environment environment_of(const Program& program, const Options& options) {
  Environment environment(environ);
  if (!options.settings.empty())
    environment.set("HAWSER_SET", fmt::format("{}", fmt::join(options.settings, "\n")));
  for (const auto& [name, value] : program.environment) environment.set(name, value);
  return environment;
}

Result<JobParameters> read_parameters(const Options& options) {
  JobParameters parameters;
  for (const Program& program : options.programs) {
    // From another directory a relative HAWSER_CONFIG names another file; its ranks will see.
    if (!program.directory.empty()) continue;
    session::Settings settings;
    base::ParameterRegistry registry;
    session::register_all_parameters(registry, settings);
    Environment environment = environment_of(program, options);
    HAWSER_TRY(session::load_configuration(registry, environment.pointers()));
    parameters.busy_threads = std::max(parameters.busy_threads, settings.wait.busy_threads());
  }
  return parameters;
}

}  // namespace hawser::launcher
