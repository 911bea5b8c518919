#include "platform/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "platform/cgroup.hpp"

namespace hawser::platform {

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0)
    return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return CPU_COUNT(&set);
}

CoreSet usable_core_set() {
  static_assert(CoreSet().size() == CPU_SETSIZE);
  CoreSet cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_told = ::sched_getaffinity(0, sizeof(set), &set) == 0;
  const auto count = static_cast<std::size_t>(usable_cores());
  for (std::size_t core = 0; core < cores.size(); ++core)
    cores[core] = is_told ? CPU_ISSET(core, &set) : core < count;
  return cores;
}

int granted_cores() {
  const int usable = usable_cores();
  const std::optional<double> quota = cgroup_cores_max();
  return quota ? std::clamp(static_cast<int>(*quota), 1, usable) : usable;
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.nodename) : std::string("localhost");
}

std::uint64_t start_time(pid_t pid) {
  std::array<char, 32> path{};
  *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/stat", pid).out = '\0';
  const FileDescriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t got = file.is_open() ? ::read(file.get(), text.data(), text.size() - 1) : -1;
  if (got <= 0) return 0;
  // The command's name, in parentheses, may hold anything; fields are counted from its end on.
  std::istringstream fields(
      std::string(text.data()).substr(std::string_view(text.data()).find_last_of(')') + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return 0;
  constexpr int fields_from_state_to_start_time = 19;
  for (int i = 0; i < fields_from_state_to_start_time; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

namespace {

/// A MemoryPiece has the layout of an iovec on 64-bit Linux; the copy keeps it a fact, not a hope.
class Pieces {
 public:
  explicit Pieces(std::span<const MemoryPiece> pieces)
      : count_(std::min(pieces.size(), parts_.size())) {
    std::ranges::transform(pieces.first(count_), parts_.begin(), [](const MemoryPiece& piece) {
      return iovec{reinterpret_cast<void*>(piece.address), piece.bytes};  // NOLINT
    });
  }
  [[nodiscard]] const iovec* data() const { return parts_.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::array<iovec, 64> parts_;
  std::size_t count_;
};

std::int64_t bytes_or_error(ssize_t copied) {
  return copied < 0 ? -static_cast<std::int64_t>(errno) : static_cast<std::int64_t>(copied);
}

}  // namespace

std::int64_t read_memory(pid_t pid, std::span<const MemoryPiece> local,
                         std::span<const MemoryPiece> remote) {
  const Pieces to(local);
  const Pieces from(remote);
  return bytes_or_error(
      ::process_vm_readv(pid, to.data(), to.count(), from.data(), from.count(), 0));
}

std::int64_t write_memory(pid_t pid, std::span<const MemoryPiece> local,
                          std::span<const MemoryPiece> remote) {
  const Pieces from(local);
  const Pieces to(remote);
  return bytes_or_error(
      ::process_vm_writev(pid, from.data(), from.count(), to.data(), to.count(), 0));
}

bool holds_word(pid_t pid, std::uint64_t address, std::uint64_t word) {
  std::uint64_t found = 0;
  const MemoryPiece here{reinterpret_cast<std::uint64_t>(&found), sizeof(found)};
  const MemoryPiece there{address, sizeof(found)};
  return read_memory(pid, {&here, 1}, {&there, 1}) == sizeof(found) && found == word;
}

}  // namespace hawser::platform
