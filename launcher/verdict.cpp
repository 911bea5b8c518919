#include "launcher/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace hawser::launcher {

namespace {

constexpr int signal_base = 128;  // as shells count
constexpr int code_timed_out = 124;
constexpr int code_not_executable = 126;
constexpr int code_not_found = 127;

std::string signal_name(int signal) {
  const char* description = ::sigdescr_np(signal);
  return description == nullptr ? fmt::format("signal {}", signal)
                                : fmt::format("signal {} ({})", signal, description);
}

/// TEXT came out of shared memory: it stays one line and sends nothing to the terminal.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

int exit_code_of(const Verdict& verdict) {
  switch (verdict.cause) {
    case Verdict::Cause::died_of_signal:
    case Verdict::Cause::interrupted:
      return signal_base + verdict.value;
    case Verdict::Cause::exited:
    case Verdict::Cause::aborted:
      return (verdict.value & 255) == 0 ? 1 : verdict.value & 255;
    case Verdict::Cause::not_finalized:
      return 1;
    case Verdict::Cause::timed_out:
      return code_timed_out;
    case Verdict::Cause::not_started:
      return verdict.value;
    case Verdict::Cause::output_closed:
      return signal_base + SIGPIPE;
  }
  return 1;
}

std::string sentence_of(const Verdict& verdict, std::string_view rank_name) {
  switch (verdict.cause) {
    case Verdict::Cause::died_of_signal:
      return fmt::format("{} died of {}", rank_name, signal_name(verdict.value));
    case Verdict::Cause::exited:
      return fmt::format("{} exited with code {}", rank_name, verdict.value);
    case Verdict::Cause::not_finalized:
      return fmt::format("{} exited without calling MPI_Finalize", rank_name);
    case Verdict::Cause::aborted: {
      const std::string why = one_line(verdict.detail);
      return fmt::format("{} called MPI_Abort with code {}{}{}", rank_name, verdict.value,
                         why.empty() ? "" : ": ", why);
    }
    case Verdict::Cause::interrupted:
      return fmt::format("the job was ended by {}", signal_name(verdict.value));
    case Verdict::Cause::timed_out:
      return fmt::format("the job was still running after {} s (--timeout) and was ended",
                         verdict.detail);
    case Verdict::Cause::not_started:
      return verdict.detail;
    case Verdict::Cause::output_closed:
      return {};  // as every program at the left of a pipe
  }
  return {};
}

std::string name_of_rank(std::uint32_t rank, std::string_view program, int pid,
                         std::string_view host) {
  return fmt::format("rank {} ({}, pid {} on {})", rank, program, pid, host);
}

Verdict not_executable(std::string_view program, std::string_view directory, int error_number) {
  Verdict verdict{Verdict::Cause::not_started};
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  verdict.value = missing ? code_not_found : code_not_executable;
  if (missing && program.find('/') == std::string_view::npos)
    verdict.detail = fmt::format("the program '{}' was not found in PATH", program);
  else
    verdict.detail =
        fmt::format("the program '{}'{}{} cannot be started: {}", program,
                    directory.empty() ? "" : " in ", directory, std::strerror(error_number));
  return verdict;
}

}  // namespace hawser::launcher
