#include "platform/find_program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <ranges>

namespace hawser::platform {

std::string find_program(const std::string& name, std::string_view folders) {
  if (name.find('/') != std::string::npos) return name;
  for (const auto folder : std::views::split(folders, ':')) {
    std::string path = std::string(folder.begin(), folder.end()) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return name;
}

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace hawser::platform
