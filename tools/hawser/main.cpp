// hawser: the command line of the tools.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "hawser/doctor.hpp"
#include "hawser/info.hpp"
#include "hawser/report.hpp"
#include "session/version.hpp"

int main(int argc, char** argv) try {
  CLI::App app("Looks at Hawser, at the machine it runs on, and at what a job did.", "hawser");
  app.set_version_flag("--version", fmt::format("Hawser {}", hawser::session::version()));
  app.require_subcommand(1);

  hawser::tools::InfoOptions info_options;
  CLI::App* info = app.add_subcommand("info", "Version, components and parameters");
  info->add_flag("--all", info_options.all, "Also bounds and environment variables");
  info->add_flag("--json", info_options.json, "Everything, as JSON");
  info->add_flag("--rules", info_options.rules, "Only the rules by which channels are chosen");

  CLI::App* doctor = app.add_subcommand("doctor", "Checks by doing whether this machine is fit");

  std::string report_path;
  CLI::App* report = app.add_subcommand("report", "Prints the statistics of a job as tables");
  report->add_option("FILE", report_path, "what HAWSER_STATS named")->required();

  CLI11_PARSE(app, argc, argv);
  if (info->parsed()) return hawser::tools::run_info(info_options, environ);
  if (doctor->parsed()) return hawser::tools::run_doctor();
  return hawser::tools::run_report(report_path);
} catch (const std::exception& error) {
  std::fprintf(stderr, "hawser: %s\n", error.what());
  return 1;
}
