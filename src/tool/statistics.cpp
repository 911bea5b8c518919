#include "tool/statistics.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "platform/append.hpp"
#include "platform/process.hpp"
#include "platform/this_process.hpp"
#include "session/version.hpp"
#include "tool/statistics_json.hpp"

namespace hawser::tool {

std::string job_text(std::uint64_t job) { return fmt::format("{:016x}", job); }

Statistics start_statistics() {
  Statistics statistics;
  statistics.version = session::version();
  statistics.host = platform::host_name();
  statistics.pid = platform::process_id();
  return statistics;
}

std::vector<ChangedParameter> changed_parameters(const base::ParameterRegistry& registry) {
  std::vector<ChangedParameter> changed;
  for (const base::ParameterDescription& parameter : registry.describe()) {
    if (parameter.current_text == parameter.default_text) continue;
    std::string source = base::source_name(parameter.source);
    if (!parameter.origin.empty()) source += " " + parameter.origin;
    changed.push_back({parameter.name, parameter.current_text, parameter.default_text, source});
  }
  return changed;
}

std::string expand_file_pattern(std::string_view pattern, std::uint32_t index) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'r') {
      path += fmt::format("{}", index);
    } else {
      path += pattern[i];
    }
    if (next == 'r' || next == '%') ++i;
  }
  return path;
}

base::Result<void> write_statistics(const Statistics& statistics, std::string_view pattern) {
  return platform::append_to_file(expand_file_pattern(pattern, statistics.self.index),
                                  to_json_line(statistics));
}

}  // namespace hawser::tool
