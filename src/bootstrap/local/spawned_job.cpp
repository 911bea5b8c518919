#include "bootstrap/local/spawned_job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "platform/shared_library.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

std::vector<std::string> command_line(const std::string& mpirun, const SpawnRequest& request) {
  std::vector<std::string> words{mpirun};
  for (const SpawnProgram& program : request.programs) {
    if (words.size() > 1) words.emplace_back(":");
    words.insert(words.end(), {"-n", std::to_string(program.processes)});
    if (!program.directory.empty()) words.insert(words.end(), {"--wdir", program.directory});
    words.emplace_back("--");
    words.insert(words.end(), program.command.begin(), program.command.end());
  }
  return words;
}

std::vector<std::string> environment_of(const SpawnRequest& request, int report) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  for (const auto& [name, value] : request.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  variables.push_back(fmt::format("{}={}", spawn_report_variable, report));
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// What a program expects: default signals, none blocked, no input.
class Attributes {
 public:
  explicit Attributes(int report) {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&actions);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Onto itself: it stays open.
    ::posix_spawn_file_actions_adddup2(&actions, report, report);
  }
  ~Attributes() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

/// The number behind BEGINNING, in the first whole line of HEARD that has it.
std::optional<int> number_behind(std::string_view heard, std::string_view beginning) {
  for (std::size_t end = 0; (end = heard.find('\n')) != std::string_view::npos;
       heard.remove_prefix(end + 1)) {
    const std::string_view line = heard.substr(0, end);
    int number = 0;
    if (line.starts_with(beginning) &&
        std::from_chars(line.data() + beginning.size(), line.data() + line.size(), number).ec ==
            std::errc())
      return number;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> own_mpirun() {
  std::string path = platform::folder_of_this_library() + "/../bin/mpirun";
  if (::access(path.c_str(), X_OK) == 0) return path;
  return Error(ErrorClass::spawn,
               fmt::format("{} is not there, which would start the new processes", path));
}

Result<std::unique_ptr<SpawnedJob>> SpawnedJob::start(const std::string& mpirun,
                                                      const SpawnRequest& request) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error(ErrorClass::spawn, fmt::format("no pipe to {}: {}", mpirun, std::strerror(errno)));
  std::unique_ptr<SpawnedJob> job(new SpawnedJob(platform::FileDescriptor(ends[0])));
  platform::FileDescriptor report(ends[1]);
  const Attributes prepared(report.get());
  std::vector<std::string> words = command_line(mpirun, request);
  std::vector<std::string> variables = environment_of(request, report.get());
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, mpirun.c_str(), &prepared.actions, &prepared.attributes,
                                   pointers_to(words).data(), pointers_to(variables).data());
  if (failed != 0)
    return Error(ErrorClass::spawn,
                 fmt::format("{} cannot be started: {}", mpirun, std::strerror(failed)));
  report.close();
  // What we have started only starts the launcher that stays.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  HAWSER_TRY(job->hear_pid());
  return job;
}

Result<void> SpawnedJob::hear_pid() {
  while (true) {
    if (const auto pid = number_behind(heard_, report_of_pid)) {
      launcher_ = *pid;
      ::fcntl(report_.get(), F_SETFL, O_NONBLOCK);
      return {};
    }
    if (!read_some())
      return Error(ErrorClass::spawn,
                   "the launcher of the new processes has ended before it began; what it says "
                   "stands above");
  }
}

bool SpawnedJob::read_some() {
  std::array<char, 256> buffer{};
  const ssize_t bytes = ::read(report_.get(), buffer.data(), buffer.size());
  if (bytes > 0) heard_.append(buffer.data(), static_cast<std::size_t>(bytes));
  return bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR));
}

std::optional<std::string> SpawnedJob::failure() {
  const bool goes_on = read_some();
  const auto code = number_behind(heard_, report_of_exit);
  if (goes_on && !code) return std::nullopt;
  return fmt::format(
      "the new processes have ended, with exit code {}, before they called MPI_Init "
      "together",
      code.value_or(-1));
}

}  // namespace hawser::bootstrap
