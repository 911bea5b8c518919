#include "launcher/detach.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "bootstrap/local/spawned_job.hpp"
#include "bootstrap/variables.hpp"

namespace hawser::launcher {

namespace {

/// One line, which a pipe takes whole.
void report(const platform::FileDescriptor& where, std::string_view what, int number) {
  const std::string line = fmt::format("{}{}\n", what, number);
  [[maybe_unused]] const auto written = ::write(where.get(), line.data(), line.size());
}

}  // namespace

Detachment::Detachment() {
  const auto text = bootstrap::take_variable(bootstrap::spawn_report_variable);
  if (!text) return;
  const auto number = bootstrap::parse_variable(bootstrap::spawn_report_variable, *text);
  if (!number) return;
  report_ = platform::FileDescriptor(static_cast<int>(*number));
  platform::close_on_exec(report_);
  const pid_t child = ::fork();
  if (child > 0) ::_exit(0);
  // Without a child this process goes on itself, and whoever started it waits.
  report(report_, bootstrap::report_of_pid, ::getpid());
}

void Detachment::report_exit(int code) const {
  if (report_.is_open()) report(report_, bootstrap::report_of_exit, code);
}

}  // namespace hawser::launcher
