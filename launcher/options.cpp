#include "launcher/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "bootstrap/job_segment.hpp"

namespace hawser::launcher {

namespace {

/// What CLI11 stores for the options before one program, still as text.
struct Texts {
  std::string processes;
  std::string bind_to;
  std::string timeout;
  std::vector<std::string> settings;
  std::vector<std::string> environment;
  std::vector<std::pair<std::string, std::string>> environment_pairs;
  std::vector<std::pair<std::string, std::string>> global_environment_pairs;
  std::string directory;
  bool tag_output = false;
  bool verbose = false;
  bool keep_going = false;
  std::string fault_tolerance;
  bool accepted = false;
};

class HelpFormatter : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: mpirun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n\n"
           "Standard input goes to rank 0; the exit code is that of the first rank that fails.\n";
  }
};

void declare_options(CLI::App& app, Texts& texts) {
  app.name("mpirun");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version,-V", "mpirun (Hawser) " HAWSER_VERSION);
  app.add_option("-n,-c,--n,--np", texts.processes, "Processes to start (default 1)")
      ->type_name("N");
  app.add_option("-x,--env", texts.environment,
                 "Set a variable for this program; without a value: as it is here")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("--wdir,--wd", texts.directory, "Start this program in DIR")->type_name("DIR");
  app.add_flag("-l,--tag-output,--prefix", texts.tag_output, "Begin each line with '[rank] '");
  app.add_option("--bind-to", texts.bind_to,
                 "core: one core per rank; none; default: deal the cores out evenly if there are "
                 "enough, else none")
      ->type_name("core|none");
  app.add_option("--timeout", texts.timeout, "End the job after so many seconds, with code 124")
      ->type_name("SECONDS");
  app.add_option("--set", texts.settings, "Set a parameter of the library; see 'hawser info'")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("-v,--verbose", texts.verbose, "Say where each rank runs");
  app.add_flag("--keep-going,--enable-recovery,--disable-auto-cleanup", texts.keep_going,
               "The others go on when a rank dies; operations with it fail");
  app.add_option("--with-ft", texts.fault_tolerance,
                 "The same, as Open MPI spells it: ulfm, mpi or yes; no: the opposite, as always")
      ->type_name("KIND");
  app.add_option("--genv", texts.global_environment_pairs, "Set a variable for all programs")
      ->type_name("NAME VALUE")
      ->allow_extra_args(false);
  const std::string hidden;
  app.add_option("--env-pair", texts.environment_pairs)->group(hidden)->allow_extra_args(false);
  app.add_flag("--oversubscribe,--allow-run-as-root", texts.accepted,
               "Always so; accepted for scripts that were written for other launchers");
}

/// WORD as declare_options() knows it: "-np" and "-timeout" have two dashes there.
std::string canonical_option(const CLI::App& app, const std::string& word) {
  if (word == "-env") return "--env-pair";
  const bool one_dash = word.size() > 2 && word[0] == '-' && word[1] != '-';
  const std::string name = word.substr(0, word.find('='));
  if (one_dash && app.get_option_no_throw("-" + name) != nullptr) return "-" + word;
  return word;
}

/// Splits the words before one program's end into its options, made canonical, and its command.
struct Words {
  std::vector<std::string> options;
  std::vector<std::string> command;
};
Words split_words(const CLI::App& app, std::span<const std::string> arguments) {
  Words words;
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].size() > 1 && arguments[i][0] == '-') {
    if (arguments[i] == "--") {
      ++i;
      break;
    }
    words.options.push_back(canonical_option(app, arguments[i++]));
    const CLI::Option* option = app.get_option_no_throw(words.options.back());
    const int values = option == nullptr ? 0 : option->get_items_expected_min();
    for (int taken = 0; taken < values && i < arguments.size(); ++taken)
      words.options.push_back(arguments[i++]);
  }
  words.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  return words;
}

Error refuse(std::string sentence) { return {ErrorClass::arg, std::move(sentence)}; }

Result<std::uint32_t> parse_processes(const std::string& text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end || number < 1 || number > bootstrap::job_processes_max)
    return refuse(fmt::format("-n is '{}', not a number of processes from 1 to {}", text,
                              bootstrap::job_processes_max));
  return number;
}

Result<std::uint64_t> parse_timeout(const std::string& text) {
  constexpr double seconds_max = 1e9;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(seconds > 0 && seconds <= seconds_max))
    return refuse(fmt::format("--timeout is '{}', not a number of seconds above 0", text));
  return std::max(static_cast<std::uint64_t>(seconds * 1e9), std::uint64_t{1});
}

Result<BindTo> parse_bind_to(const std::string& text) {
  if (text == "core") return BindTo::core;
  if (text == "none") return BindTo::none;
  return refuse(fmt::format("--bind-to is '{}', not 'core' or 'none'", text));
}

/// Whether --with-ft asks for the others to go on.
Result<bool> parse_fault_tolerance(const std::string& text) {
  if (text == "ulfm" || text == "mpi" || text == "yes") return true;
  if (text == "no" || text == "none") return false;
  return refuse(fmt::format("--with-ft is '{}', not 'ulfm', 'mpi', 'yes' or 'no'", text));
}

Result<void> check_name(std::string_view option, std::string_view name) {
  if (!name.empty() && name.find('=') == std::string_view::npos) return {};
  return refuse(fmt::format("{} needs a name of a variable, not '{}'", option, name));
}

Result<void> add_environment(const Texts& texts, Program& program) {
  for (const std::string& text : texts.environment) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    HAWSER_TRY(check_name("--env", name));
    // Without a value: ranks inherit mpirun's environment, so that there is nothing to do.
    if (equals != std::string::npos)
      program.environment.emplace_back(name, text.substr(equals + 1));
  }
  for (const auto& pair : texts.environment_pairs) {
    HAWSER_TRY(check_name("-env", pair.first));
    program.environment.push_back(pair);
  }
  return {};
}

Result<void> add_settings(const Texts& texts, Options& options) {
  for (const std::string& text : texts.settings) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.find('\n') != std::string::npos)
      return refuse(fmt::format("--set is '{}', not KEY=VALUE", text));
    options.settings.push_back(text);
  }
  return {};
}

/// Options that hold for the whole job, before whichever program they stand.
Result<void> add_job_options(const Texts& texts, Options& options) {
  options.tag_output |= texts.tag_output;
  options.keep_going |= texts.keep_going;
  options.verbose |= texts.verbose;
  if (!texts.fault_tolerance.empty()) {
    const Result<bool> goes_on = parse_fault_tolerance(texts.fault_tolerance);
    if (!goes_on) return Error(goes_on.error());
    options.keep_going |= *goes_on;
  }
  if (!texts.bind_to.empty()) {
    const Result<BindTo> bind_to = parse_bind_to(texts.bind_to);
    if (!bind_to) return Error(bind_to.error());
    options.bind_to = *bind_to;
  }
  if (!texts.timeout.empty()) {
    const Result<std::uint64_t> timeout_ns = parse_timeout(texts.timeout);
    if (!timeout_ns) return Error(timeout_ns.error());
    options.timeout_ns = *timeout_ns;
  }
  for (const auto& pair : texts.global_environment_pairs)
    HAWSER_TRY(check_name("-genv", pair.first));
  return add_settings(texts, options);
}

Result<Program> make_program(const Texts& texts, std::vector<std::string> command) {
  Program program;
  if (!texts.processes.empty()) {
    const Result<std::uint32_t> processes = parse_processes(texts.processes);
    if (!processes) return Error(processes.error());
    program.processes = *processes;
  }
  if (command.empty() || command[0].empty())
    return refuse("no program to start; see mpirun --help");
  program.command = std::move(command);
  program.directory = texts.directory;
  HAWSER_TRY(add_environment(texts, program));
  return program;
}

/// One program with the options before it; TEXT is set if they ask for help or the version.
Result<Texts> parse_texts(CLI::App& app, Texts& texts, std::vector<std::string> words,
                          std::optional<std::string>& text) {
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    text = app.help();
  } catch (const CLI::CallForVersion& version) {
    text = std::string(version.what()) + "\n";
  } catch (const CLI::ExtrasError&) {
    const auto unknown = app.remaining();
    return refuse(fmt::format("'{}' is not an option; see mpirun --help", unknown.front()));
  } catch (const CLI::ParseError& error) {
    return refuse(fmt::format("{}; see mpirun --help", error.what()));
  }
  return texts;
}

}  // namespace

std::uint32_t Options::processes() const {
  std::uint32_t sum = 0;
  for (const Program& program : programs) sum += program.processes;
  return sum;
}

std::uint32_t Options::program_of(std::uint32_t rank) const {
  std::uint32_t index = 0;
  while (rank >= programs[index].processes) rank -= programs[index++].processes;
  return index;
}

Result<CommandLine> parse_command_line(std::span<const std::string> arguments) {
  CommandLine line;
  std::vector<std::pair<std::string, std::string>> global_environment;
  for (auto begin = arguments.begin();;) {
    const auto end = std::find(begin, arguments.end(), ":");
    CLI::App app("Starts an MPI job on this host.");
    Texts declared;
    declare_options(app, declared);
    Words words = split_words(app, std::span(begin, end));
    const Result<Texts> texts = parse_texts(app, declared, std::move(words.options), line.text);
    if (!texts) return Error(texts.error());
    if (line.text) return line;
    HAWSER_TRY(add_job_options(*texts, line.options));
    Result<Program> program = make_program(*texts, std::move(words.command));
    if (!program) return program.take_error();
    line.options.programs.push_back(*std::move(program));
    global_environment.insert(global_environment.end(), texts->global_environment_pairs.begin(),
                              texts->global_environment_pairs.end());
    if (line.options.processes() > bootstrap::job_processes_max)
      return refuse(fmt::format("the programs have more than {} processes together",
                                bootstrap::job_processes_max));
    if (end == arguments.end()) break;
    begin = end + 1;
  }
  // What is set for one program has the last word.
  for (Program& program : line.options.programs)
    program.environment.insert(program.environment.begin(), global_environment.begin(),
                               global_environment.end());
  return line;
}

}  // namespace hawser::launcher
