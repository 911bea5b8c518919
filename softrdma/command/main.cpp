// softrdma run … -- PROGRAM: any program written for libibverbs on the device in user space.
// softrdma fault: makes something fail in programs that run.
// softrdma stat: what the processes of a fabric do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softrdma/command/commands.hpp"

namespace {

using softrdma::command::FaultOptions;
using softrdma::command::RunOptions;
using softrdma::command::StatOptions;

/// An option of `run`, and the variable of the library that it sets.
struct Setting {
  const char* option;
  const char* variable;
  const char* help;
};

constexpr Setting settings[] = {
    {"--devices", "SOFTRDMA_DEVICES", "how many devices there are (1 to 64)"},
    {"--ports", "SOFTRDMA_PORTS", "ports of each (1 to 16)"},
    {"--link", "SOFTRDMA_LINK", "ib or roce"},
    {"--fabric", "SOFTRDMA_FABRIC", "processes of a host that name the same are one adapter"},
    {"--address", "SOFTRDMA_ADDRESS", "IP addresses by which other hosts find this one"},
    {"--max-qp", "SOFTRDMA_MAX_QP", "queue pairs of a process, at most"},
    {"--contexts", "SOFTRDMA_CONTEXTS", "queue pairs in the cache that an adapter would have"},
    {"--loss", "SOFTRDMA_LOSS", "share of packets that are lost, from 0 to 1"},
    {"--duplicate", "SOFTRDMA_DUPLICATE", "share of packets that are sent twice"},
    {"--reorder", "SOFTRDMA_REORDER", "share of packets that are late"},
    {"--flip", "SOFTRDMA_FLIP", "share of packets with a bit flipped that no checksum finds"},
    {"--delay", "SOFTRDMA_DELAY", "microseconds by which every packet is late"},
    {"--qp-errors", "SOFTRDMA_QP_ERRORS", "queue pairs that fail, a second, on average"},
    {"--port-flaps", "SOFTRDMA_PORT_FLAPS", "how often a port is down for 10 ms, a second"},
    {"--seed", "SOFTRDMA_SEED", "of what happens to which packet"},
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("RDMA without an adapter: programs written for libibverbs run in user space");
  app.require_subcommand(1);

  RunOptions run_options;
  std::vector<std::string> values(std::size(settings));
  CLI::App* const run = app.add_subcommand("run", "run a program on the device");
  for (std::size_t i = 0; i < std::size(settings); ++i)
    run->add_option(settings[i].option, values[i], settings[i].help);
  bool is_strict = false;
  run->add_flag("--strict", is_strict,
                "fail accesses to memory that has changed since it was registered");
  // What follows the first word that is no option is the program's.
  run->prefix_command();

  StatOptions stat_options;
  CLI::App* const stat = app.add_subcommand("stat", "show what the processes of a fabric do");
  stat->add_option("--fabric", stat_options.fabric, "its name")->capture_default_str();
  stat->add_option("--device", stat_options.device, "which of its devices")->capture_default_str();
  stat->add_option("--interval", stat_options.interval_s, "seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  stat->add_option("--count", stat_options.count, "how many looks; 0: without end");

  FaultOptions fault_options;
  CLI::App* const fault = app.add_subcommand("fault", "make something fail in a running program");
  fault->add_option("--fabric", fault_options.fabric, "its name")->capture_default_str();
  fault->add_option("--device", fault_options.device, "which of its devices")
      ->capture_default_str();
  fault->add_option("--pid", fault_options.pid, "a process of it; of ports else all");
  fault->add_option("what", fault_options.what, "qp-error, port-down or port-up")->required();
  fault->add_option("number", fault_options.number, "of the queue pair, or of the port")
      ->required();

  // Behind "--" everything is the program's.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  CLI11_PARSE(app, static_cast<int>(dashes - argv), argv);
  if (fault->parsed()) return softrdma::command::fault(fault_options);
  if (stat->parsed()) return softrdma::command::stat(stat_options);
  for (std::size_t i = 0; i < std::size(settings); ++i)
    if (run->count(settings[i].option) > 0)
      run_options.variables.emplace_back(settings[i].variable, values[i]);
  if (is_strict) run_options.variables.emplace_back("SOFTRDMA_STRICT", "1");
  run_options.program = run->remaining();
  if (dashes != end) run_options.program.insert(run_options.program.end(), dashes + 1, end);
  if (run_options.program.empty()) {
    std::fputs("softrdma: run needs a program: softrdma run [OPTIONS] [--] PROGRAM\n", stderr);
    return 1;
  }
  return softrdma::command::run(run_options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "softrdma: %s\n", error.what());
  return 1;
}
