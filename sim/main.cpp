// hawser_sim: runs simulations of one seed after the other, until one fails.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include "sim/simulation.hpp"

namespace {

using namespace hawser::sim;  // NOLINT

struct Options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  std::uint64_t single_seed = 0;
  bool is_single = false;
  std::string workload;
  int ranks = 0;
  std::uint64_t each_at_least = 0;
  bool verbose = false;
  bool quiet = false;
};

// The line that a signal handler writes if product code aborts; a global, since a handler has no
// other way to anything.
std::array<char, 256> current_line;     // NOLINT
std::array<char, 65536> handler_stack;  // NOLINT: a fiber's stack may be used up

void on_crash(int number) {
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, current_line.data(), std::strlen(current_line.data()));
  ::raise(number);
}

void install_crash_handler() {
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    ::sigaction(number, &action, nullptr);
}

std::string describe(const Plan& plan) {
  return fmt::format("seed {}, workload {}, {}commit {}", plan.seed, plan.workload->name,
                     plan.ranks > 0 ? fmt::format("ranks {}, ", plan.ranks) : "",
                     HAWSER_SIM_COMMIT);
}

std::string replay_command(const Plan& plan) {
  return fmt::format("hawser_sim --seed {} --workload {}{} --verbose", plan.seed,
                     plan.workload->name,
                     plan.ranks > 0 ? fmt::format(" --ranks {}", plan.ranks) : "");
}

/// What happened is added to PROBES.
bool run_one(const Plan& plan, NetworkProbes& probes) {
  const std::string line = fmt::format("crashed: {}\n", describe(plan));
  std::snprintf(current_line.data(), current_line.size(), "%s", line.c_str());
  const Outcome outcome = simulate(plan);
  probes += outcome.network;
  if (outcome.failure.empty()) return true;
  fmt::print("failed: {}\n  {}\n  replay: {}\n", describe(plan), outcome.failure,
             replay_command(plan));
  return false;
}

/// False if something happened less than LEAST times.
bool report(const NetworkProbes& probes, std::uint64_t least, bool quiet) {
  bool is_enough = true;
  for (const NetworkProbe& probe : network_probes) {
    const std::uint64_t count = probes.*probe.count;
    const bool is_missing = count < least;
    if (is_missing) {
      fmt::print("failed: {} {}, fewer than {}\n", count, probe.name, least);
    } else if (!quiet) {
      fmt::print("{:>12} {}\n", count, probe.name);
    }
    is_enough = is_enough && !is_missing;
  }
  return is_enough;
}

int run_all(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::time_point last_report = start;
  const auto all = workloads();
  NetworkProbes probes;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const std::uint64_t seed = options.first + i;
    const WorkloadEntry* workload =
        options.workload.empty() ? &all[seed % all.size()] : find_workload(options.workload);
    if (!run_one({seed, workload, options.ranks, options.verbose}, probes)) {
      std::fflush(stdout);
      ::_exit(1);  // a leak checker would report all that the job held
    }
    if (options.quiet || Clock::now() - last_report < std::chrono::seconds(5)) continue;
    last_report = Clock::now();
    fmt::print("{} of {} seeds\n", i + 1, options.seeds);
    std::fflush(stdout);
  }
  fmt::print("{} seeds passed in {:.1f} s\n", options.seeds,
             std::chrono::duration<double>(Clock::now() - start).count());
  return report(probes, options.each_at_least, options.quiet) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Runs the library on simulated networks, one per seed.");
  app.add_option("--seeds", options.seeds, "How many seeds to run")->capture_default_str();
  app.add_option("--first", options.first, "The first of them")->capture_default_str();
  auto* seed = app.add_option("--seed", options.single_seed, "Only this seed");
  app.add_option("--workload", options.workload, "Only this workload; else one after the other")
      ->check([](const std::string& name) {
        if (find_workload(name) != nullptr) return std::string();
        std::string known;
        for (const WorkloadEntry& entry : workloads()) known += fmt::format(" {}", entry.name);
        return fmt::format("there is no workload '{}'; there are{}", name, known);
      });
  app.add_option("--ranks", options.ranks, "Ranks of each job; 0: 2 to 12, by the seed")
      ->check(CLI::Range(0, 4096));
  app.add_option("--each-at-least", options.each_at_least,
                 "Fail unless everything that happens seldom happened so often");
  app.add_flag("--verbose", options.verbose, "Print every event");
  app.add_flag("--quiet", options.quiet, "Print no progress");
  CLI11_PARSE(app, argc, argv);
  if (seed->count() > 0) {
    options.first = options.single_seed;
    options.seeds = 1;
  }
  install_crash_handler();
  return run_all(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "hawser_sim: %s\n", error.what());
  return 1;
}
