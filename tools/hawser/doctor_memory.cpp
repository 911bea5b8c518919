// Checks of memory: what segments are made of, and how much of it there is.
#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "hawser/child.hpp"
#include "hawser/doctor.hpp"
#include "hawser/table.hpp"
#include "platform/cgroup.hpp"
#include "platform/file.hpp"

namespace hawser::tools {
namespace {

constexpr std::size_t segment_bytes = std::size_t{1} << 20;

/// Memory that could be had without swapping, as the kernel estimates it.
std::optional<std::uint64_t> available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  for (std::string unit; file >> name >> kilobytes; std::getline(file, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return std::nullopt;
}

}  // namespace

Finding check_anonymous_memory() {
  constexpr const char* check = "anonymous memory";
  auto file = platform::create_anonymous_file("hawser doctor", segment_bytes);
  if (!file.ok()) {
    return {Verdict::fail, check, file.error().sentence() + ".",
            "memfd_create needs Linux 3.17 and a seccomp profile that allows it."};
  }
  const auto allocated = platform::allocate_pages(*file, 0, segment_bytes);
  if (!allocated.ok()) {
    return {Verdict::fail, check, allocated.error().sentence() + ".",
            "raise the memory limit of the container or control group."};
  }
  return {Verdict::ok, check, "memfd, sealed against shrinking, grown with fallocate."};
}

Finding check_shared_mapping() {
  constexpr const char* check = "shared mapping";
  const auto page = SharedPage<std::atomic<std::uint32_t>>::make();
  if (!page.ok()) return {Verdict::fail, check, page.error().sentence() + "."};
  auto child = Child::start([&] {
    (*page)->store(42);
    return 0;
  });
  if (!child.ok()) {
    return {Verdict::fail, check, child.error().sentence() + ".",
            "raise the limit of processes (ulimit -u, pids.max)."};
  }
  if (child->wait(child_timeout_ns) != 0 || (*page)->load() != 42)
    return {Verdict::fail, check, "what a child wrote into shared memory was not seen here."};
  return {Verdict::ok, check, "what one process writes, another one sees."};
}

Finding check_memory_limit() {
  constexpr std::uint64_t comfortable_bytes = std::uint64_t{256} << 20;
  const std::optional<std::uint64_t> limit = platform::cgroup_memory_bytes_max();
  const std::optional<std::uint64_t> available = available_bytes();
  const std::string sentence =
      fmt::format("{} available, {}.", available ? format_bytes(*available) : "unknown memory",
                  limit ? fmt::format("control group limited to {}", format_bytes(*limit))
                        : "no limit of a control group");
  if ((limit && *limit < comfortable_bytes) || (available && *available < comfortable_bytes)) {
    return {Verdict::warn, "memory", sentence,
            "shared memory counts as memory of the control group; raise its limit."};
  }
  return {Verdict::ok, "memory", sentence};
}

Finding check_huge_pages() {
  constexpr const char* check = "huge shared pages";
  // The one in force is in brackets: "always within_size advise [never] deny force".
  const std::string modes = platform::read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
                                .value_or("[unknown]");
  const std::size_t open = modes.find('[');
  const std::string mode = modes.substr(open + 1, modes.find(']') - open - 1);
  if (mode == "always" || mode == "force") {
    return {Verdict::warn, check,
            fmt::format("shmem_enabled is {}: a rank's segment takes whole pages of 2 MiB.", mode),
            "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled."};
  }
  return {Verdict::ok, check, fmt::format("shmem_enabled is {}.", mode)};
}

}  // namespace hawser::tools
