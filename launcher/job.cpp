#include "launcher/job.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bootstrap/local/local_bootstrap.hpp"
#include "launcher/descendants.hpp"
#include "launcher/parameters.hpp"
#include "platform/clock.hpp"
#include "platform/process.hpp"

namespace hawser::launcher {

namespace {

Supervisor make_supervisor(const Options& options) {
  const auto on_death = options.keep_going ? Supervisor::OnDeath::go_on : Supervisor::OnDeath::end;
  Verdict verdict{Verdict::Cause::timed_out};
  if (options.timeout_ns == 0) return Supervisor(std::nullopt, verdict, {}, on_death);
  verdict.detail = fmt::format("{:g}", static_cast<double>(options.timeout_ns) / 1e9);
  return Supervisor(platform::monotonic_ns() + options.timeout_ns, verdict, {}, on_death);
}

Verdict not_started(std::string sentence) {
  return {Verdict::Cause::not_started, 0, 1, std::move(sentence)};
}

/// Sends SIGNAL to PID (negative: a group). What is stopped must wake up to see that it shall end.
void send(pid_t pid, int signal) {
  ::kill(pid, signal);
  if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP) ::kill(pid, SIGCONT);
}

}  // namespace

Job::Job(const Options& options, const bootstrap::JobSegment& segment,
         std::vector<Binding> bindings, const SignalSource& signals, const rlimit& descriptors)
    : options_(options),
      segment_(segment),
      bindings_(std::move(bindings)),
      signals_(signals),
      descriptors_(descriptors),
      foreign_children_(children()),
      null_(::open("/dev/null", O_RDWR | O_CLOEXEC)),
      supervisor_(make_supervisor(options)),
      notices_(segment),
      relay_(STDOUT_FILENO, STDERR_FILENO) {}

int Job::run() {
  become_reaper();
  start();
  reap();
  settle();
  while (!settled_ || !(relay_.is_empty() || supervisor_.is_impatient())) wait();
  return supervisor_.verdict() ? exit_code_of(*supervisor_.verdict()) : spawned_code_;
}

/// The mpirun of a job that a rank has started has said itself what went wrong there.
void Job::note_spawned_end(int status) {
  constexpr int signal_base = 128;
  if (spawned_code_ == 0)
    spawned_code_ = WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Jobs that ranks have started run as long as they like, unless all is to end.
std::vector<pid_t> Job::spared_children() const {
  std::vector<pid_t> spared = foreign_children_;
  if (!supervisor_.ends_all())
    for (const pid_t launcher : segment_.spawned()) spared.push_back(launcher);
  return spared;
}

bool Job::runs_spawned() const {
  bool runs = false;
  for (const pid_t launcher : segment_.spawned()) {
    if (platform::start_time(launcher) != 0) {
      runs = true;
    } else {
      segment_.strike_spawned(launcher);  // it had ended before we heard of it
    }
  }
  return runs;
}

void Job::start() {
  Spawner spawner(signals_.inherited_mask(), descriptors_);
  std::uint32_t rank = 0;
  for (std::uint32_t number = 0; number < options_.programs.size(); ++number) {
    const Program& program = options_.programs[number];
    Environment environment = environment_of(program, options_);
    environment.set(bootstrap::job_fd_variable, std::to_string(segment_.fd().get()));
    for (std::uint32_t i = 0; i < program.processes; ++i, ++rank) {
      segment_.entry(rank).app_number = static_cast<std::int32_t>(number);
      if (!start_rank(spawner, rank, program, environment)) return;
    }
  }
}

bool Job::start_rank(Spawner& spawner, std::uint32_t rank, const Program& program,
                     Environment& environment) {
  const std::string prefix = options_.tag_output ? fmt::format("[{}] ", rank) : std::string();
  // A person answers the prompts of rank 0, and a single rank has nobody to mix with.
  const bool talks = rank == 0 && (::isatty(STDIN_FILENO) != 0 || options_.processes() == 1);
  const auto waiting = talks ? LineMixer::Waiting::never : LineMixer::Waiting::for_lines;
  const Result<platform::FileDescriptor> output =
      relay_.add_stream(Relay::Source::output, prefix, waiting);
  const Result<platform::FileDescriptor> error =
      relay_.add_stream(Relay::Source::error, prefix, waiting);
  if (!output || !error) {
    fail(not_started((output ? error : output).error().sentence()));
    return false;
  }
  environment.set(bootstrap::job_index_variable, std::to_string(rank));
  std::vector<char*> arguments;
  for (const std::string& word : program.command)
    arguments.push_back(const_cast<char*>(word.c_str()));  // execve does not change them
  arguments.push_back(nullptr);
  const Spawned spawned =
      spawner.spawn({.arguments = arguments.data(),
                     .environment = environment.pointers(),
                     .directory = program.directory.empty() ? nullptr : program.directory.c_str(),
                     .input = rank == 0 ? STDIN_FILENO : null_.get(),
                     .output = output->get(),
                     .error = error->get(),
                     .job = segment_.fd().get(),
                     .cores = bindings_[rank].mask});
  switch (spawned.failed) {
    case SpawnStep::none:
      break;
    case SpawnStep::clone:
      fail(not_started(fmt::format("rank {} of {} cannot be started: {}", rank,
                                   options_.processes(), std::strerror(spawned.error_number))));
      return false;
    case SpawnStep::directory:
      fail(not_started(fmt::format("the directory '{}' of --wdir cannot be entered: {}",
                                   program.directory, std::strerror(spawned.error_number))));
      return false;
    case SpawnStep::execute:
      fail(not_executable(program.command[0], program.directory, spawned.error_number));
      return false;
  }
  running_.emplace(spawned.pid, rank);
  pids_.push_back(spawned.pid);
  supervisor_.rank_started();
  if (options_.verbose)
    relay_.say(fmt::format("rank {}: {}, pid {}, {}", rank, program.command[0], spawned.pid,
                           bindings_[rank].text));
  return true;
}

void Job::fail(Verdict verdict) {
  obey(supervisor_.failed(std::move(verdict), platform::monotonic_ns()));
}

void Job::wait() {
  const std::array<int, 2> writable = relay_.writable_fds();
  std::array<pollfd, 4> polled{pollfd{signals_.fd(), POLLIN, 0},
                               pollfd{settled_ ? -1 : relay_.readable_fd(), POLLIN, 0},
                               pollfd{writable[0], POLLOUT, 0}, pollfd{writable[1], POLLOUT, 0}};
  const std::optional<std::uint64_t> deadline = supervisor_.next_deadline_ns();
  const std::uint64_t now = platform::monotonic_ns();
  const std::uint64_t left = deadline && *deadline > now ? *deadline - now : 0;
  const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                         static_cast<long>(left % 1'000'000'000)};
  ::ppoll(polled.data(), polled.size(), deadline && !settled_ ? &timeout : nullptr, nullptr);

  relay_.move();
  take_signals();
  obey(supervisor_.time_passed(platform::monotonic_ns()));
  if (relay_.is_broken()) fail({Verdict::Cause::output_closed});
  settle();
}

void Job::take_signals() {
  while (const std::optional<int> signal = signals_.next()) {
    if (*signal == SIGCHLD) {
      reap();
    } else {
      obey(supervisor_.signalled(*signal, platform::monotonic_ns()));
    }
  }
}

void Job::reap() {
  std::vector<Supervisor::Ending> endings;
  std::vector<pid_t> ended;  // of the same ranks
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = running_.find(pid);
    if (found == running_.end()) {
      if (segment_.strike_spawned(pid)) note_spawned_end(status);
      notices_.orphan_ended(pid);
      continue;
    }
    const std::uint32_t rank = found->second;
    const auto state = static_cast<bootstrap::ProcessState>(segment_.entry(rank).state.load());
    endings.push_back({rank, status, state == bootstrap::ProcessState::initialized});
    running_.erase(found);
    ended.push_back(pid);
  }
  std::optional<Verdict> abort;
  if (std::optional<bootstrap::JobSegment::Abort> record = segment_.recorded_abort();
      record && record->index < pids_.size())
    abort =
        Verdict{Verdict::Cause::aborted, record->index, record->code, std::move(record->sentence)};
  obey(supervisor_.ranks_ended(endings, abort, platform::monotonic_ns()));
  for (const Verdict& death : supervisor_.take_passed_over()) relay_.say(sentence_about(death));
  // After the verdict: who hears of a death may abort for it.
  for (std::size_t i = 0; i < endings.size(); ++i) notices_.rank_ended(endings[i].rank, ended[i]);
}

void Job::obey(const Supervisor::Orders& orders) {
  if (orders.signal != 0) {
    for (const auto& [pid, rank] : running_) send(-pid, orders.signal);
    if (running_.empty())
      for (const pid_t pid : descendants(spared_children())) send(pid, orders.signal);
  }
  if (orders.stop_self) ::raise(SIGSTOP);
}

void Job::settle() {
  if (settled_) return;
  if (!supervisor_.gave_up()) {
    if (supervisor_.running() > 0) return;
    if (!descendants(spared_children()).empty()) {
      obey(supervisor_.orphans_left(platform::monotonic_ns()));
      return;
    }
    if (runs_spawned()) return;
  }
  settled_ = true;
  relay_.finish();
  if (const std::string text = sentence(); !text.empty()) relay_.say(text);
  relay_.move();
}

std::string Job::sentence() const {
  const std::optional<Verdict>& verdict = supervisor_.verdict();
  return !verdict || supervisor_.is_verdict_passed_over() ? std::string()
                                                          : sentence_about(*verdict);
}

std::string Job::sentence_about(const Verdict& verdict) const {
  if (verdict.rank >= pids_.size()) return sentence_of(verdict, {});
  const Program& program = options_.programs[options_.program_of(verdict.rank)];
  return sentence_of(verdict, name_of_rank(verdict.rank, program.command[0], pids_[verdict.rank],
                                           platform::host_name()));
}

}  // namespace hawser::launcher
