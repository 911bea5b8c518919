#include "bootstrap/local/local_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/process.hpp"
#include "platform/this_process.hpp"

namespace hawser::bootstrap {

namespace {

/// States of PublishedValue::published.
constexpr std::uint32_t value_free = 0;
constexpr std::uint32_t value_being_written = 1;
constexpr std::uint32_t value_valid = 2;

std::string_view key_of(const PublishedValue& slot) {
  return {slot.key, ::strnlen(slot.key, sizeof(slot.key))};
}

/// Takes the variable NAME out of the environment.
std::optional<std::string> take_variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string taken = text;
  ::unsetenv(name);
  return taken;
}

Result<std::uint32_t> parse_number(const char* name, const std::string& text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end || number > INT32_MAX)
    return Error(
        ErrorClass::other,
        fmt::format("{} is '{}', which is not a number that mpirun would have set", name, text));
  return number;
}

/// What a shell sees: eight bits, and never success.
int exit_code_of(int code) { return (code & 255) == 0 ? 1 : code & 255; }

}  // namespace

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::connect() {
  const std::optional<std::string> fd_text = take_variable(job_fd_variable);
  const std::optional<std::string> index_text = take_variable(job_index_variable);
  if (!fd_text && !index_text) return singleton();
  if (!fd_text || !index_text)
    return Error(ErrorClass::other, fmt::format("{} is set without {}; mpirun sets both or none",
                                                fd_text ? job_fd_variable : job_index_variable,
                                                fd_text ? job_index_variable : job_fd_variable));
  const Result<std::uint32_t> number = parse_number(job_fd_variable, *fd_text);
  if (!number) return Error(number.error());
  const Result<std::uint32_t> index = parse_number(job_index_variable, *index_text);
  if (!index) return Error(index.error());

  platform::FileDescriptor fd(static_cast<int>(*number));
  Result<std::unique_ptr<Bootstrap>> joined = join(fd, *index);
  // Refused: whoever opened that number still needs it.
  if (fd.is_open()) static_cast<void>(fd.release());
  return joined;
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::singleton() {
  Result<JobSegment> segment = JobSegment::create({.host_cores = platform::granted_cores()});
  if (!segment) return segment.take_error();
  return claim(*std::move(segment), 0);
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::join(platform::FileDescriptor& fd,
                                                        std::uint32_t index) {
  Result<JobSegment> segment = JobSegment::attach(fd);
  if (!segment) return segment.take_error();
  platform::close_on_exec(segment->fd());
  return claim(*std::move(segment), index);
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::claim(JobSegment segment, std::uint32_t index) {
  const std::uint32_t size = segment.facts().size;
  if (index >= size)
    return Error(ErrorClass::other,
                 fmt::format("{} is {}, which is not in [0,{})", job_index_variable, index, size));
  std::int32_t owner = 0;
  if (!segment.entry(index).pid.compare_exchange_strong(owner, platform::process_id(),
                                                        std::memory_order_acq_rel))
    return Error(ErrorClass::other,
                 fmt::format("rank {} of this job was already taken by process {}; mpirun can give "
                             "each rank to one MPI program only",
                             index, owner));
  return std::unique_ptr<Bootstrap>(new LocalBootstrap(std::move(segment), index));
}

LocalBootstrap::LocalBootstrap(JobSegment segment, std::uint32_t index)
    : segment_(std::move(segment)), entry_(segment_.entry(index)) {
  const JobSegment::Facts& facts = segment_.facts();
  placement_.self = {facts.job, index, 0};
  placement_.size = facts.size;
  placement_.key = facts.key;
  placement_.app_number = entry_.app_number;
  placement_.universe_size = static_cast<int>(facts.size);
  placement_.local_rank = index;
  placement_.local_size = facts.size;
  placement_.host_cores = facts.host_cores;
  placement_.launcher = facts.launcher_pid == 0 ? "none" : "hawser mpirun";
  // The ranks of a job are siblings; all descend from the launcher.
  if (facts.launcher_pid != 0) platform::let_read_us(facts.launcher_pid);
}

Result<void> LocalBootstrap::publish(std::string_view key, std::span<const std::byte> value) {
  if (key.empty() || key.size() >= sizeof(PublishedValue::key))
    return Error(ErrorClass::arg, fmt::format("the key '{}' to publish has {} bytes, not 1 to {}",
                                              key, key.size(), sizeof(PublishedValue::key) - 1));
  if (value.size() >= sizeof(PublishedValue::value))
    return Error(ErrorClass::arg,
                 fmt::format("the value of '{}' to publish has {} bytes, more than {}", key,
                             value.size(), sizeof(PublishedValue::value) - 1));
  for (PublishedValue& slot : entry_.values) {
    // Only this process writes here.
    if (slot.published.load(std::memory_order_relaxed) == value_free) {
      slot.published.store(value_being_written, std::memory_order_relaxed);
      std::copy(key.begin(), key.end(), slot.key);
      std::copy(value.begin(), value.end(), slot.value);
      slot.value_bytes = static_cast<std::uint32_t>(value.size());
      // Whoever reads `valid` with acquire sees key and value.
      slot.published.store(value_valid, std::memory_order_release);
      return {};
    }
    if (key_of(slot) == key)
      return Error(ErrorClass::arg, fmt::format("'{}' was published already", key));
  }
  return Error(ErrorClass::no_mem, fmt::format("no room to publish '{}': a process has {} values",
                                               key, ProcessEntry::values_max));
}

Result<std::optional<std::vector<std::byte>>> LocalBootstrap::look_up(std::uint32_t index,
                                                                      std::string_view key) {
  using Found = std::optional<std::vector<std::byte>>;
  if (index >= placement_.size)
    return Error(ErrorClass::arg,
                 fmt::format("process {} is not in [0,{})", index, placement_.size));
  for (const PublishedValue& slot : segment_.entry(index).values) {
    if (slot.published.load(std::memory_order_acquire) != value_valid) break;
    if (key_of(slot) != key) continue;
    const std::uint32_t bytes = slot.value_bytes;
    if (bytes >= sizeof(slot.value))
      return Error(
          ErrorClass::intern,
          fmt::format("the value '{}' of process {} claims {} bytes; its memory is damaged", key,
                      index, bytes));
    return Found(std::vector<std::byte>(slot.value, slot.value + bytes));
  }
  return Found();
}

std::optional<Bootstrap::HostMemory> LocalBootstrap::host_memory() const {
  const JobSegment::Facts& facts = segment_.facts();
  return HostMemory{&segment_.fd(), facts.host_offset, facts.host_bytes};
}

std::optional<std::uint32_t> LocalBootstrap::local_rank_of(std::uint32_t index) const {
  if (index >= placement_.size) return std::nullopt;
  return index;
}

Bootstrap::Ending LocalBootstrap::ending_of(std::uint32_t index) const {
  if (!segment_.has_ended(index)) return Ending::none;
  const auto state =
      static_cast<ProcessState>(segment_.entry(index).state.load(std::memory_order_acquire));
  return state == ProcessState::finalized ? Ending::finalized : Ending::died;
}

void LocalBootstrap::report_initialized() {
  entry_.state.store(static_cast<std::uint32_t>(ProcessState::initialized),
                     std::memory_order_release);
}

void LocalBootstrap::report_finalized() {
  entry_.state.store(static_cast<std::uint32_t>(ProcessState::finalized),
                     std::memory_order_release);
}

void LocalBootstrap::abort(int code, std::string_view sentence) {
  segment_.record_abort({code, placement_.self.index, std::string(sentence)});
  const pid_t launcher = segment_.facts().launcher_pid;
  if (launcher == 0) {
    const std::string line = fmt::format("hawser: MPI_Abort with code {}{}{}\n", code,
                                         sentence.empty() ? "" : ": ", sentence);
    std::fwrite(line.data(), 1, line.size(), stderr);
  } else {
    // We may be the child of a script that goes on without us: the launcher looks at the record
    // now.
    platform::nudge_launcher(launcher);
  }
  platform::end_process(exit_code_of(code));
}

}  // namespace hawser::bootstrap
