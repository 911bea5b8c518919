#include "bootstrap/job_segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "base/cache_line.hpp"

namespace hawser::bootstrap {

namespace {

struct Layout {
  std::size_t entries_offset;
  std::size_t host_offset;
  std::size_t bytes;
};

/// SIZE and HOST_BYTES are bounded by the callers, so that no sum overflows.
Layout layout_of(std::uint32_t size, std::size_t host_bytes) {
  constexpr std::size_t entries_offset = base::round_to_lines(sizeof(JobHeader));
  const std::size_t host_offset =
      platform::round_to_pages(entries_offset + std::size_t{size} * sizeof(ProcessEntry));
  return {entries_offset, host_offset, host_offset + platform::round_to_pages(host_bytes)};
}

Error not_a_job(std::string_view reason) {
  return {ErrorClass::other, fmt::format("this is not the memory of a job: {}", reason)};
}

/// Checks HEADER, which lies in a file of FILE_BYTES, against the layout that its sizes imply.
Result<void> check_header(const JobHeader& header, std::size_t file_bytes) {
  if (header.magic != job_segment_magic)
    return not_a_job(
        fmt::format("it begins with {:#x} instead of {:#x}", header.magic, job_segment_magic));
  if (header.version != job_segment_version)
    return not_a_job(
        fmt::format("its version is {}, this library speaks {}; all processes and mpirun must be "
                    "of the same installation",
                    header.version, job_segment_version));
  if (header.size < 1 || header.size > job_processes_max)
    return not_a_job(fmt::format("its number of processes, {}, is not in [1,{}]", header.size,
                                 job_processes_max));
  if (header.host_bytes > file_bytes)
    return not_a_job(fmt::format("its host area of {} bytes exceeds the file's {}",
                                 header.host_bytes, file_bytes));
  const Layout layout = layout_of(header.size, header.host_bytes);
  if (layout.bytes > file_bytes)
    return not_a_job(fmt::format("{} processes need {} bytes, the file has {}", header.size,
                                 layout.bytes, file_bytes));
  if (header.bytes != layout.bytes || header.entries_offset != layout.entries_offset ||
      header.host_offset != layout.host_offset)
    return not_a_job(fmt::format("its parts lie at {}, {} and {} instead of {}, {} and {}",
                                 header.entries_offset, header.host_offset, header.bytes,
                                 layout.entries_offset, layout.host_offset, layout.bytes));
  if (header.host_cores < 1 || header.launcher_pid < 0)
    return not_a_job(fmt::format("{} cores and launcher {} make no sense", header.host_cores,
                                 header.launcher_pid));
  return {};
}

JobSegment::Facts facts_of(const JobHeader& header) {
  JobSegment::Facts facts{
      header.job,       {}, header.size, header.launcher_pid, header.host_cores, header.host_offset,
      header.host_bytes};
  std::copy(std::begin(header.key), std::end(header.key), facts.key.begin());
  return facts;
}

}  // namespace

Result<JobSegment> JobSegment::create(const Request& request) {
  HAWSER_ASSERT(request.size >= 1 && request.size <= job_processes_max);
  HAWSER_ASSERT(request.host_bytes <= job_processes_max * host_bytes_per_process);
  const Layout layout = layout_of(request.size, request.host_bytes);
  Result<platform::FileDescriptor> fd = platform::create_anonymous_file("hawser-job", layout.bytes);
  if (!fd) return fd.take_error();
  HAWSER_TRY(platform::allocate_pages(*fd, 0, layout.bytes));
  Result<platform::Mapping> mapping = platform::Mapping::shared(*fd, 0, layout.host_offset);
  if (!mapping) return mapping.take_error();

  auto* header = new (mapping->data()) JobHeader{};
  header->magic = job_segment_magic;
  header->version = job_segment_version;
  header->size = request.size;
  header->bytes = layout.bytes;
  header->entries_offset = layout.entries_offset;
  header->host_offset = layout.host_offset;
  header->host_bytes = request.host_bytes;
  header->launcher_pid = request.launcher_pid;
  header->host_cores = request.host_cores;
  header->job = platform::random_number();
  platform::random_bytes(header->key);
  const Facts facts = facts_of(*header);
  return JobSegment(*std::move(fd), *std::move(mapping), facts);
}

Result<JobSegment> JobSegment::attach(platform::FileDescriptor& fd) {
  // Without the seal another holder could shrink the file and every access would be a SIGBUS.
  if (!platform::is_sealed_against_shrinking(fd))
    return not_a_job(
        fmt::format("descriptor {} is closed or something else; a program between "
                    "mpirun and this one may have closed it",
                    fd.get()));
  const Result<std::size_t> file_bytes = platform::file_size(fd);
  if (!file_bytes) return not_a_job(file_bytes.error().sentence());
  if (*file_bytes < sizeof(JobHeader))
    return not_a_job(
        fmt::format("it has {} bytes, fewer than a header's {}", *file_bytes, sizeof(JobHeader)));
  Result<platform::Mapping> first =
      platform::Mapping::shared(fd, 0, platform::round_to_pages(sizeof(JobHeader)));
  if (!first) return first.take_error();
  const auto& header = *std::launder(reinterpret_cast<const JobHeader*>(first->data()));
  HAWSER_TRY(check_header(header, *file_bytes));
  const Facts facts = facts_of(header);
  Result<platform::Mapping> mapping = platform::Mapping::shared(fd, 0, facts.host_offset);
  if (!mapping) return mapping.take_error();
  return JobSegment(std::move(fd), *std::move(mapping), facts);
}

JobHeader& JobSegment::header() const {
  return *std::launder(reinterpret_cast<JobHeader*>(mapping_.data()));
}

ProcessEntry& JobSegment::entry(std::uint32_t index) const {
  HAWSER_ASSERT(index < facts_.size);
  const Layout layout = layout_of(facts_.size, 0);
  auto* entries = reinterpret_cast<ProcessEntry*>(mapping_.data() + layout.entries_offset);
  return *std::launder(entries + index);
}

void JobSegment::record_end(std::uint32_t index) const {
  const std::uint32_t before =
      entry(index).end.fetch_or(ProcessEntry::has_ended, std::memory_order_relaxed);
  if ((before & ProcessEntry::has_ended) != 0) return;
  if ((before & ProcessEntry::has_arrived) == 0)
    header().arrived_at_end.fetch_add(1, std::memory_order_release);
  // Who sees the count with acquire sees the entry.
  header().ended.fetch_add(1, std::memory_order_release);
}

void JobSegment::record_arrival(std::uint32_t index) const {
  entry(index).end.fetch_or(ProcessEntry::has_arrived, std::memory_order_relaxed);
  header().arrived_at_end.fetch_add(1, std::memory_order_acq_rel);
}

bool JobSegment::have_all_arrived() const {
  return header().arrived_at_end.load(std::memory_order_acquire) >= facts_.size;
}

std::uint32_t JobSegment::ended_count() const {
  return header().ended.load(std::memory_order_acquire);
}

bool JobSegment::has_ended(std::uint32_t index) const {
  return (entry(index).end.load(std::memory_order_relaxed) & ProcessEntry::has_ended) != 0;
}

Result<void> JobSegment::record_spawned(std::int32_t launcher) const {
  for (std::atomic<std::int32_t>& place : header().spawned) {
    std::int32_t free = 0;
    if (place.compare_exchange_strong(free, launcher, std::memory_order_acq_rel)) return {};
  }
  return Error(ErrorClass::spawn,
               fmt::format("{} jobs that this one has started run already; when one of them ends "
                           "there is room for another",
                           JobHeader::spawned_max));
}

bool JobSegment::strike_spawned(std::int32_t launcher) const {
  return std::ranges::any_of(header().spawned, [&](std::atomic<std::int32_t>& place) {
    std::int32_t expected = launcher;
    return place.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  });
}

std::vector<std::int32_t> JobSegment::spawned() const {
  std::vector<std::int32_t> launchers;
  for (const std::atomic<std::int32_t>& place : header().spawned)
    if (const std::int32_t launcher = place.load(std::memory_order_acquire); launcher != 0)
      launchers.push_back(launcher);
  return launchers;
}

void JobSegment::record_abort(const Abort& abort) const {
  AbortRecord& record = header().abort;
  std::uint32_t none = 0;
  if (!record.state.compare_exchange_strong(none, 1, std::memory_order_relaxed)) return;
  record.code = abort.code;
  record.index = abort.index;
  const std::size_t bytes = std::min(abort.sentence.size(), sizeof(record.sentence) - 1);
  std::memcpy(record.sentence, abort.sentence.data(), bytes);
  record.sentence[bytes] = '\0';
  record.state.store(2, std::memory_order_release);
}

std::optional<JobSegment::Abort> JobSegment::recorded_abort() const {
  const AbortRecord& record = header().abort;
  if (record.state.load(std::memory_order_acquire) != 2) return std::nullopt;
  return Abort{record.code, record.index,
               std::string(record.sentence, ::strnlen(record.sentence, sizeof(record.sentence)))};
}

}  // namespace hawser::bootstrap
