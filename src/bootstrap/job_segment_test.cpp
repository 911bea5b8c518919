#include "bootstrap/job_segment.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace hawser::bootstrap {
namespace {

using platform::FileDescriptor;

/// A sealed anonymous file that begins with a copy of JOB's header, changed by CHANGE.
FileDescriptor forge(const JobSegment& job, std::size_t bytes,
                     const std::function<void(JobHeader&)>& change) {
  FileDescriptor fd = *platform::create_anonymous_file("forged", bytes);
  std::vector<std::byte> header(sizeof(JobHeader));
  EXPECT_EQ(::pread(job.fd().get(), header.data(), header.size(), 0),
            static_cast<ssize_t>(header.size()));
  change(*reinterpret_cast<JobHeader*>(header.data()));
  const std::size_t written = std::min(bytes, header.size());
  EXPECT_EQ(::pwrite(fd.get(), header.data(), written, 0), static_cast<ssize_t>(written));
  return fd;
}

TEST(JobSegment, EveryForgedFieldIsRefused) {
  const auto made = JobSegment::create({.size = 2, .host_bytes = 2 * host_bytes_per_process});
  ASSERT_TRUE(made.ok());
  const JobSegment& job = *made;
  const std::size_t whole = *platform::file_size(job.fd());
  FileDescriptor honest = forge(job, whole, [](JobHeader&) {});
  EXPECT_TRUE(JobSegment::attach(honest).ok());

  const std::vector<std::function<void(JobHeader&)>> changes = {
      [](JobHeader& h) { h.magic ^= 1; },
      [](JobHeader& h) { h.version += 1; },
      [](JobHeader& h) { h.size = 0; },
      [](JobHeader& h) { h.size = 1000; },
      [](JobHeader& h) { h.size = job_processes_max + 1; },
      [](JobHeader& h) { h.size = 0xffffffffU; },
      [](JobHeader& h) { h.bytes += 1; },
      [](JobHeader& h) { h.bytes = 0; },
      [](JobHeader& h) { h.entries_offset += 8; },
      [](JobHeader& h) { h.host_offset += platform::page_bytes(); },
      [](JobHeader& h) { h.host_offset = ~0ULL; },
      [](JobHeader& h) { h.host_bytes = ~0ULL; },
      [](JobHeader& h) { h.host_bytes += platform::page_bytes(); },
      [](JobHeader& h) { h.host_cores = 0; },
      [](JobHeader& h) { h.launcher_pid = -1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FileDescriptor fd = forge(job, whole, changes[i]);
    EXPECT_FALSE(JobSegment::attach(fd).ok()) << "change " << i;
    EXPECT_TRUE(fd.is_open());
  }
  for (const std::size_t bytes : {std::size_t{0}, sizeof(JobHeader) - 1, whole - 1}) {
    FileDescriptor fd = forge(job, bytes, [](JobHeader&) {});
    EXPECT_FALSE(JobSegment::attach(fd).ok()) << bytes << " bytes";
  }
}

TEST(JobSegment, AFileThatCouldShrinkIsRefused) {
  FileDescriptor fd(::memfd_create("unsealed", MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), 1 << 20), 0);
  EXPECT_FALSE(JobSegment::attach(fd).ok());
}

}  // namespace
}  // namespace hawser::bootstrap
