#include "bootstrap/pmi/pmi_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "bootstrap/pmi/process_mapping.hpp"
#include "bootstrap/variables.hpp"
#include "platform/this_process.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

constexpr std::size_t line_bytes_max = 65536;
/// Launchers' own lines have 1024 bytes, of which the longest names take 320.
constexpr std::size_t text_bytes_max = 512;
/// "hawser.", a rank and a dot, before a key of ours.
constexpr std::size_t full_key_bytes_max = 7 + 10 + 1 + ProcessManager::key_bytes_max;

/// hydra drops what it has not read yet of our output, the reason among it, when it hears of an
/// abort.
constexpr std::chrono::milliseconds abort_pause(50);

/// How long a launcher may take to read a line, at most, before the next one is sent all the same.
constexpr std::chrono::milliseconds read_patience(2000);
constexpr std::chrono::milliseconds read_look(1);

std::string full_key(std::uint32_t rank, std::string_view key) {
  return fmt::format("hawser.{}.{}", rank, key);
}

/// Slurm names a step's board after its job, hydra after itself.
std::string launcher_of(std::string_view board) {
  const char* const slurm_job = std::getenv("SLURM_JOB_ID");
  const bool is_slurm = slurm_job != nullptr && board.starts_with(fmt::format("{}.", slurm_job));
  return is_slurm ? "Slurm (PMI-1)" : "hydra (PMI-1)";
}

}  // namespace

Result<std::unique_ptr<ProcessManager>> PmiManager::connect() {
  const std::string fd_text = take_variable(pmi_fd_variable).value_or("");
  const std::string rank_text = take_variable("PMI_RANK").value_or("");
  const std::string size_text = take_variable("PMI_SIZE").value_or("");
  const bool is_spawned = take_variable("PMI_SPAWNED").has_value();
  for (const char* other : {"PMI_ID", "PMI_PORT", "PMI_JOBID"}) take_variable(other);
  const auto number = parse_variable(pmi_fd_variable, fd_text);
  if (!number) return number.error();
  const auto rank = parse_variable("PMI_RANK", rank_text);
  if (!rank) return rank.error();
  const auto size = parse_variable("PMI_SIZE", size_text);
  if (!size) return size.error();
  platform::FileDescriptor socket(static_cast<int>(*number));
  auto joined = join(socket, *rank, *size);
  // Refused: whoever opened that number still needs it.
  if (socket.is_open()) static_cast<void>(socket.release());
  if (joined && is_spawned) HAWSER_TRY(static_cast<PmiManager&>(**joined).adopt_variables());
  return joined;
}

Result<std::unique_ptr<ProcessManager>> PmiManager::join(platform::FileDescriptor& socket,
                                                         std::uint32_t rank, std::uint32_t size) {
  if (!platform::is_socket(socket.get()))
    return Error(ErrorClass::other,
                 fmt::format("{} is {}, which is closed or no socket; a program between the "
                             "launcher and this one may have closed it",
                             pmi_fd_variable, socket.get()));
  std::unique_ptr<PmiManager> manager(new PmiManager(std::move(socket), rank, size));
  if (Result<void> introduced = manager->introduce(); !introduced) {
    socket = platform::FileDescriptor(manager->socket_.release());
    return introduced.take_error();
  }
  manager->socket_.close_on_exec();
  return std::unique_ptr<ProcessManager>(std::move(manager));
}

PmiManager::PmiManager(platform::FileDescriptor socket, std::uint32_t rank, std::uint32_t size)
    : socket_(std::move(socket), line_bytes_max) {
  job_.rank = rank;
  job_.size = size;
  job_.universe_size = static_cast<int>(size);
  job_.claimed_local = {rank};
  job_.launcher = "a launcher with PMI-1";
}

Error PmiManager::broken(std::string_view reason) const {
  return {ErrorClass::other, fmt::format("the connection to {} ({}) broke: {}", job_.launcher,
                                         pmi_fd_variable, reason)};
}

/// Slurm takes what it reads at once for one line, and drops a second one.
void PmiManager::wait_until_read() const {
  for (auto left = read_patience; left.count() > 0 && socket_.has_unread(); left -= read_look)
    std::this_thread::sleep_for(read_look);
}

Result<PmiManager::Message> PmiManager::ask(std::string_view line, std::string_view answer) {
  if (barrier_is_under_way_) wait_until_read();
  if (const Result<void> sent = socket_.send(line); !sent) return broken(sent.error().sentence());
  while (true) {
    const Result<std::string> received = socket_.receive();
    if (!received) return broken(received.error().sentence());
    auto message = pmi::parse_message(*received);
    if (!message) return broken("it sends a line without a command");
    if (message->command == answer) return *std::move(message);
    if (!take_aside(*message))
      return broken(fmt::format("it sends {} instead of {}", message->command, answer));
  }
}

bool PmiManager::take_aside(const Message& message) {
  if (message.command == "barrier_out") return std::exchange(barrier_is_under_way_, false);
  if (message.command != "spawn_result" || spawns_answered_ == spawns_asked_) return false;
  const std::uint32_t number = spawns_answered_++;
  if (!message.is_success()) refused_spawns_.emplace(number, message.text("rc"));
  return true;
}

Result<void> PmiManager::hear() {
  while (true) {
    const auto line = socket_.try_receive();
    if (!line) return broken(line.error().sentence());
    if (!*line) return {};
    const auto message = pmi::parse_message(**line);
    if (!message || !take_aside(*message)) return broken("it sends what nobody has asked for");
  }
}

Result<void> PmiManager::introduce() {
  const auto welcome = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!welcome) return welcome.error();
  if (!welcome->is_success())
    return Error(ErrorClass::other,
                 fmt::format("the launcher speaks version {}.{} of PMI and not 1.1",
                             welcome->text("pmi_version"), welcome->text("pmi_subversion")));
  HAWSER_TRY(learn_limits());
  HAWSER_TRY(learn_job());
  return learn_neighbours();
}

Result<void> PmiManager::learn_limits() {
  const auto limits = ask("cmd=get_maxes", "maxes");
  if (!limits) return limits.error();
  const int key_bytes = limits->number("keylen_max").value_or(0);
  const int value_bytes = limits->number("vallen_max").value_or(0);
  // Both count the byte that ends a text in C.
  if (key_bytes <= static_cast<int>(full_key_bytes_max))
    return broken(fmt::format("its keys have at most {} bytes; {} are needed", key_bytes,
                              full_key_bytes_max + 1));
  job_.value_bytes_max =
      std::min(static_cast<std::size_t>(std::max(value_bytes - 1, 0)), text_bytes_max);
  return {};
}

Result<void> PmiManager::learn_job() {
  const auto board = ask("cmd=get_my_kvsname", "my_kvsname");
  if (!board) return board.error();
  job_.name = board->text("kvsname");
  if (job_.name.empty()) return broken("it does not tell its job's name");
  job_.launcher = launcher_of(job_.name);
  const auto app = ask("cmd=get_appnum", "appnum");
  if (!app) return app.error();
  job_.app_number = std::max(app->number("appnum").value_or(0), 0);
  const auto universe = ask("cmd=get_universe_size", "universe_size");
  if (!universe) return universe.error();
  job_.universe_size = std::max(universe->number("size").value_or(0), job_.universe_size);
  return {};
}

Result<void> PmiManager::learn_neighbours() {
  if (job_.rank >= job_.size)
    return broken(fmt::format("rank {} is not in [0,{})", job_.rank, job_.size));
  const auto text = get_text("PMI_process_mapping");
  if (!text) return text.error();
  // Who is told nothing is alone.
  if (const auto mapping = pmi::parse_mapping(text->value_or("")))
    job_.claimed_local = pmi::ranks_beside(*mapping, job_.rank, job_.size);
  return {};
}

Result<void> PmiManager::put(std::string_view key, std::string_view text) {
  const auto done = ask(
      fmt::format("cmd=put kvsname={} key={} value={}", job_.name, full_key(job_.rank, key), text),
      "put_result");
  if (!done) return done.error();
  if (!done->is_success())
    return broken(fmt::format("it refuses to keep {} for the other ranks", key));
  return {};
}

Result<std::optional<std::string>> PmiManager::get(std::uint32_t rank, std::string_view key) {
  return get_text(full_key(rank, key));
}

Result<std::optional<std::string>> PmiManager::get_text(std::string_view key) {
  const auto told = ask(fmt::format("cmd=get kvsname={} key={}", job_.name, key), "get_result");
  if (!told) return told.error();
  if (!told->is_success()) return std::optional<std::string>();
  return std::optional<std::string>(told->text("value"));
}

Result<void> PmiManager::exchange() {
  const auto done = ask("cmd=barrier_in", "barrier_out");
  if (!done) return done.error();
  return {};
}

Result<void> PmiManager::start_barrier() {
  barrier_is_under_way_ = true;
  if (const Result<void> sent = socket_.send("cmd=barrier_in"); !sent)
    return broken(sent.error().sentence());
  return {};
}

Result<bool> PmiManager::is_barrier_done() {
  if (barrier_is_under_way_) HAWSER_TRY(hear());
  return !barrier_is_under_way_;
}

Result<void> PmiManager::finalize() {
  const auto done = ask("cmd=finalize", "finalize_ack");
  if (!done) return done.error();
  return {};
}

void PmiManager::abort(int code, std::string_view /*sentence*/) {
  std::this_thread::sleep_for(abort_pause);
  static_cast<void>(socket_.send(fmt::format("cmd=abort exitcode={}", code)));
  platform::end_process(code);
}

}  // namespace hawser::bootstrap
