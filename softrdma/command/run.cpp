#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "softrdma/command/commands.hpp"

namespace softrdma::command {
namespace {

/// Beside this program, in the folder lib of the same prefix. Empty if it is not there.
std::string library_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path library = self.parent_path().parent_path() / "lib/libsoftrdma.so";
  return std::filesystem::exists(library, error) ? library.string() : std::string();
}

}  // namespace

int run(const RunOptions& options) {
  const std::string library = library_path();
  if (library.empty()) {
    std::fprintf(stderr, "softrdma: lib/libsoftrdma.so is not where this command is installed\n");
    return 1;
  }
  for (const auto& [name, value] : options.variables) ::setenv(name.c_str(), value.c_str(), 1);
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string preload =
      before == nullptr || *before == '\0' ? library : library + ":" + before;
  ::setenv("LD_PRELOAD", preload.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : options.program)
    arguments.push_back(const_cast<char*>(word.data()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int reason = errno;
  std::fprintf(stderr, "softrdma: %s can't be started: %s\n", arguments[0], std::strerror(reason));
  // As a shell has it: not found, or not to be executed.
  return reason == ENOENT ? 127 : 126;
}

}  // namespace softrdma::command
