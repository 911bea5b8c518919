#include "launcher/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

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

Result<void> check_parameters(const Options& options) {
  for (const Program& program : options.programs) {
    // From another directory a relative HAWSER_CONFIG names another file; its ranks will see.
    if (!program.directory.empty()) continue;
    session::Settings settings;
    base::ParameterRegistry registry;
    session::register_all_parameters(registry, settings);
    Environment environment = environment_of(program, options);
    HAWSER_TRY(session::load_configuration(registry, environment.pointers()));
  }
  return {};
}

}  // namespace hawser::launcher
