// Checks of what this host lets a process have: cores, limits, containers.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "hawser/doctor.hpp"
#include "hawser/table.hpp"
#include "platform/cgroup.hpp"
#include "platform/process.hpp"

namespace hawser::tools {
namespace {

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit);
}

/// The kind of container that this process seems to run in; empty if none.
std::string container_kind() {
  constexpr std::array<std::pair<const char*, const char*>, 3> files = {
      {{"/.dockerenv", "Docker"},
       {"/run/.containerenv", "Podman"},
       {"/.singularity.d", "Apptainer"}}};
  std::error_code ignored;
  for (const auto& [path, kind] : files)
    if (std::filesystem::exists(path, ignored)) return kind;
  if (const char* name = std::getenv("container"); name != nullptr) return name;
  const std::string group = platform::read_line("/proc/1/cgroup").value_or("");
  for (const std::string_view kind : {"docker", "kubepods", "lxc", "libpod"})
    if (group.find(kind) != std::string::npos) return std::string(kind);
  return "";
}

}  // namespace

Finding check_cores() {
  const int usable = platform::usable_cores();
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  const std::optional<double> quota = platform::cgroup_cores_max();
  const std::string sentence = fmt::format("{} usable of {} online", usable, online);
  if (quota && *quota < usable) {
    return {Verdict::warn, "cores",
            fmt::format("{}, but the control group gives time of {:.1f}: more ranks than that "
                        "take turns, and do not spin.",
                        sentence, *quota),
            "raise the quota (docker run --cpus), or run fewer ranks."};
  }
  return {Verdict::ok, "cores", sentence + "."};
}

Finding check_open_files() {
  constexpr rlim_t comfortable = 1024;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string sentence = fmt::format("{} descriptors per process, at most {}.",
                                           limit_text(limit.rlim_cur), limit_text(limit.rlim_max));
  if (limit.rlim_cur >= comfortable) return {Verdict::ok, "open files", sentence};
  return {Verdict::warn, "open files", sentence, fmt::format("ulimit -n {}.", comfortable)};
}

Finding check_locked_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const std::string amount =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : format_bytes(limit.rlim_cur);
  return {Verdict::ok, "locked memory",
          fmt::format("{}; shared memory needs none, RDMA devices want it unlimited.", amount)};
}

Finding check_container() {
  const std::string kind = container_kind();
  // The initial user namespace maps every id to itself: "0 0 4294967295".
  const std::string map = platform::read_line("/proc/self/uid_map").value_or("4294967295");
  const bool has_own_users = map.find("4294967295") == std::string::npos;
  if (kind.empty() && !has_own_users) return {Verdict::ok, "container", "none was found."};
  return {Verdict::ok, "container",
          fmt::format("{}{}; what it forbids is seen above.", kind.empty() ? "none known" : kind,
                      has_own_users ? ", with users of its own" : "")};
}

}  // namespace hawser::tools
