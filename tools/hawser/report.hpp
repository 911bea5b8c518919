// `hawser report FILE`: the statistics that the ranks of a job wrote, as tables.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tool/statistics.hpp"

namespace hawser::tools {

/// One record per line of INPUT; an error names NAME and the line. Empty lines do not count.
base::Result<std::vector<tool::Statistics>> read_records(std::istream& input,
                                                         const std::string& name);
/// A section for every job, in the order of their first records.
std::string report_text(std::vector<tool::Statistics> records);

/// Prints to standard output; returns the exit code.
int run_report(const std::string& path);

}  // namespace hawser::tools
