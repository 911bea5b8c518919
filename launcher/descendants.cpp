#include "launcher/descendants.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <unordered_map>

#include "platform/file.hpp"

namespace hawser::launcher {

namespace {

using Families = std::unordered_multimap<pid_t, pid_t>;  // parent, child

std::string read_stat_line(const std::string& pid) {
  const platform::FileDescriptor file(
      ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> line{};
  const ssize_t bytes = file.is_open() ? ::read(file.get(), line.data(), line.size()) : 0;
  return bytes > 0 ? std::string(line.data(), static_cast<std::size_t>(bytes)) : std::string();
}

Families all_families() {
  Families families;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry("/proc", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }))
      continue;
    const pid_t parent = parent_in_stat_line(read_stat_line(name));
    if (parent > 0) families.emplace(parent, std::stoi(name));
  }
  return families;
}

void add_children(const Families& families, pid_t parent, std::vector<pid_t>* found) {
  const auto [begin, end] = families.equal_range(parent);
  for (auto family = begin; family != end; ++family) found->push_back(family->second);
}

}  // namespace

pid_t parent_in_stat_line(std::string_view line) {
  // The name of the command, in parentheses, may contain anything: "1 (a) b) S 7 …".
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || line.size() < name_end + 5) return 0;
  const char state = line[name_end + 2];
  if (state == 'Z' || state == 'X') return 0;
  pid_t parent = 0;
  std::from_chars(line.data() + name_end + 4, line.data() + line.size(), parent);
  return parent;
}

void become_reaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  if (has_children()) add_children(all_families(), ::getpid(), &found);
  return found;
}

std::vector<pid_t> descendants(std::span<const pid_t> excluded) {
  std::vector<pid_t> found;
  if (!has_children()) return found;
  const Families families = all_families();
  add_children(families, ::getpid(), &found);
  std::erase_if(found, [&](pid_t pid) {
    return std::find(excluded.begin(), excluded.end(), pid) != excluded.end();
  });
  for (std::size_t i = 0; i < found.size(); ++i) add_children(families, found[i], &found);
  return found;
}

}  // namespace hawser::launcher
