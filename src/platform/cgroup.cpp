#include "platform/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <vector>

namespace hawser::platform {
namespace {

/// "cpu" is among "cpu,cpuacct".
bool lists(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const std::string_view first = controllers.substr(0, controllers.find(','));
    if (first == controller) return true;
    controllers.remove_prefix(std::min(controllers.size(), first.size() + 1));
  }
  return false;
}

/// The folders whose limits hold for CONTROLLER, from the process's group up to the root. The lines
/// of /proc/self/cgroup are "number:controllers:path"; version 2 lists no controllers.
std::vector<std::string> group_folders(const std::string& root, std::string_view controller) {
  std::vector<std::string> folders;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !lists(controllers, controller)) continue;
    std::string mount = root + "/sys/fs/cgroup";
    if (!controllers.empty()) mount += '/' + std::string(controller);
    for (std::string path = line.substr(second + 1); !path.empty();
         path.resize(path.find_last_of('/')))
      if (path != "/") folders.push_back(mount + path);
    folders.push_back(mount);
  }
  return folders;
}

template <class T>
void take_smaller(std::optional<T>* limit, std::optional<T> other) {
  if (other && (!*limit || *other < **limit)) *limit = other;
}

std::optional<double> cores_of(std::string_view quota_us, std::string_view period_us) {
  // An unlimited quota is "max" or "-1", both of which are no number here.
  const std::optional<std::uint64_t> quota = parse_number(quota_us);
  const std::optional<std::uint64_t> period = parse_number(period_us);
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, reason] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (reason != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> cgroup_cores_max(const std::string& root) {
  std::optional<double> limit;
  for (const std::string& folder : group_folders(root, "cpu")) {
    if (const auto both = read_line(folder + "/cpu.max")) {
      const std::size_t blank = std::min(both->find(' '), both->size() - 1);
      take_smaller(&limit, cores_of(both->substr(0, blank), both->substr(blank + 1)));
    }
    take_smaller(&limit, cores_of(read_line(folder + "/cpu.cfs_quota_us").value_or(""),
                                  read_line(folder + "/cpu.cfs_period_us").value_or("")));
  }
  return limit;
}

std::optional<std::uint64_t> cgroup_memory_bytes_max(const std::string& root) {
  // Version 1 says "unlimited" with the largest multiple of a page in 63 bits.
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;
  std::optional<std::uint64_t> limit;
  for (const std::string& folder : group_folders(root, "memory")) {
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
      const auto bytes = parse_number(read_line(folder + name).value_or(""));
      if (bytes && *bytes < unlimited) take_smaller(&limit, bytes);
    }
  }
  return limit;
}

}  // namespace hawser::platform
