// PmiManager: further processes, and names.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "bootstrap/hexadecimal.hpp"
#include "bootstrap/pmi/pmi_manager.hpp"
#include "bootstrap/pmi/spawn_message.hpp"
#include "platform/find_program.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// Slurm cuts longer lines without a word.
constexpr std::size_t name_line_bytes_max = 1023;

Result<std::filesystem::path> folder_for(const SpawnProgram& program) {
  std::error_code failure;
  const std::filesystem::path here = std::filesystem::current_path(failure);
  if (failure)
    return Error(ErrorClass::spawn, fmt::format("the present folder: {}", failure.message()));
  return here / program.directory;
}

/// Launchers of this kind do not tell that a program is not there.
Result<void> check_program(const std::string& name, const std::filesystem::path& folder) {
  const char* const folders = std::getenv("PATH");
  const std::string found = platform::find_program(name, folders == nullptr ? "" : folders);
  const bool is_path = found.find('/') != std::string::npos;
  if (is_path && platform::is_program(folder / found)) return {};
  return Error(ErrorClass::spawn,
               fmt::format("there is no program {} {} on this host", name,
                           is_path ? fmt::format("(from {})", folder.string()) : "in PATH"));
}

/// Names may have bytes that no line can.
std::string service_field(std::string_view service) {
  return fmt::format("service=hawser.{}", to_hexadecimal(std::as_bytes(std::span(service))));
}

}  // namespace

/// The answer may be late: nobody waits for it here.
class PmiManager::PmiSpawning final : public Spawning {
 public:
  PmiSpawning(PmiManager& manager, std::uint32_t number) : manager_(manager), number_(number) {}
  std::optional<std::string> failure() override { return manager_.spawn_failure(number_); }

 private:
  PmiManager& manager_;
  std::uint32_t number_;
};

Result<std::unique_ptr<Spawning>> PmiManager::spawn(const SpawnRequest& request) {
  SpawnRequest complete = request;
  for (SpawnProgram& program : complete.programs) {
    const auto folder = folder_for(program);
    if (!folder) return folder.error();
    HAWSER_TRY(check_program(program.command.front(), *folder));
    program.directory = folder->string();
  }
  const auto texts = write_values(pmi::pack_variables(request.environment), job_.value_bytes_max);
  if (!texts) return Error(ErrorClass::spawn, texts.error().sentence());
  const Result<std::string> lines = pmi::spawn_lines(complete, *texts);
  if (!lines) return lines.error();
  if (const Result<void> sent = socket_.send(*lines); !sent)
    return Error(ErrorClass::spawn, broken(sent.error().sentence()).sentence());
  return std::unique_ptr<Spawning>(std::make_unique<PmiSpawning>(*this, spawns_asked_++));
}

std::optional<std::string> PmiManager::spawn_failure(std::uint32_t number) {
  if (const Result<void> heard = hear(); !heard) return heard.error().sentence();
  if (!refused_spawns_.contains(number)) return std::nullopt;
  return fmt::format("{} refuses to start them (rc={})", job_.launcher, refused_spawns_[number]);
}

Result<void> PmiManager::adopt_variables() {
  std::vector<std::string> texts;
  for (std::uint32_t count = 1; texts.size() < count;) {
    const auto text = get_text(pmi::variables_key(static_cast<std::uint32_t>(texts.size())));
    if (!text) return text.error();
    // Not started by MPI_Comm_spawn of ours.
    if (!*text && texts.empty()) return {};
    texts.push_back(text->value_or(""));
    if (texts.size() > 1) continue;
    const Result<std::uint32_t> told = count_texts(texts.front());
    if (!told) return told.error();
    count = *told;
  }
  const Result<Values> pieces = read_values(texts);
  if (!pieces) return pieces.error();
  const auto variables = pmi::unpack_variables(*pieces);
  if (!variables) return broken("it has other variables than those of MPI_Comm_spawn");
  for (const auto& [name, value] : *variables) ::setenv(name.c_str(), value.c_str(), 1);
  return {};
}

Result<void> PmiManager::publish_name(std::string_view service, std::string_view port) {
  const std::string line = fmt::format("cmd=publish_name {} port={}", service_field(service), port);
  if (line.size() > name_line_bytes_max)
    return Error(ErrorClass::service,
                 fmt::format("name and port have {} bytes on their way to {}; {} are the most",
                             line.size(), job_.launcher, name_line_bytes_max));
  const auto done = ask(line, "publish_result");
  if (!done) return done.error();
  if (done->is_success()) return {};
  return Error(ErrorClass::service,
               fmt::format("{} refuses to publish the name '{}': it is taken, or there is no name "
                           "server",
                           job_.launcher, service));
}

Result<std::string> PmiManager::look_up_name(std::string_view service) {
  const auto told = ask(fmt::format("cmd=lookup_name {}", service_field(service)), "lookup_result");
  if (!told) return told.error();
  if (told->is_success() && !told->text("port").empty()) return std::string(told->text("port"));
  return Error(ErrorClass::name,
               fmt::format("nobody has published the name '{}', as far as {} knows", service,
                           job_.launcher));
}

Result<void> PmiManager::unpublish_name(std::string_view service) {
  const auto done =
      ask(fmt::format("cmd=unpublish_name {}", service_field(service)), "unpublish_result");
  if (!done) return done.error();
  if (done->is_success()) return {};
  return Error(ErrorClass::service,
               fmt::format("{} does not know the name '{}' any more", job_.launcher, service));
}

}  // namespace hawser::bootstrap
