#include "platform/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/assert.hpp"

namespace hawser::platform {

namespace {

Error system_error(ErrorClass error_class, std::string_view what) {
  return {error_class, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Mapping> Mapping::shared(const FileDescriptor& fd, std::size_t offset, std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(),
                      static_cast<off_t>(offset));
  if (data == MAP_FAILED)
    return system_error(ErrorClass::no_mem, fmt::format("mmap of {} shared bytes", bytes));
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<Mapping> Mapping::reserve(std::size_t bytes) {
  void* data =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return system_error(ErrorClass::no_mem, fmt::format("mmap of {} reserved bytes", bytes));
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<void> Mapping::map_over(const FileDescriptor& fd, std::size_t offset, std::size_t bytes) {
  HAWSER_ASSERT(offset + bytes <= bytes_);
  void* data = ::mmap(data_ + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      fd.get(), static_cast<off_t>(offset));
  if (data == MAP_FAILED)
    return system_error(ErrorClass::no_mem, fmt::format("mmap of {} shared bytes", bytes));
  return {};
}

Result<FileDescriptor> create_anonymous_file(const char* label, std::size_t bytes,
                                             bool inheritable) {
  const unsigned flags = MFD_ALLOW_SEALING | (inheritable ? 0U : MFD_CLOEXEC);
  FileDescriptor fd(::memfd_create(label, flags));
  if (!fd.is_open())
    return system_error(ErrorClass::no_mem, fmt::format("memfd_create('{}')", label));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(ErrorClass::no_mem, fmt::format("ftruncate to {} bytes", bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return system_error(ErrorClass::no_mem, "sealing an anonymous file against shrinking");
  return fd;
}

Result<void> allocate_pages(const FileDescriptor& fd, std::size_t offset, std::size_t bytes) {
  int reason = EINTR;  // a signal stops it half-way; what it has done stays done
  while (reason == EINTR)
    reason = ::posix_fallocate(fd.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (reason == 0) return {};
  errno = reason;
  return system_error(ErrorClass::no_mem, fmt::format("allocating {} shared bytes", bytes));
}

bool release_pages(const FileDescriptor& fd, std::size_t offset, std::size_t bytes) {
  return ::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

Result<std::size_t> file_size(const FileDescriptor& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(ErrorClass::other, "fstat");
  return static_cast<std::size_t>(status.st_size);
}

bool is_sealed_against_shrinking(const FileDescriptor& fd) {
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

void close_on_exec(const FileDescriptor& fd) { ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC); }

void never_wait_on(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

bool has_entries(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::directory_iterator entries(folder, failed);
  return !failed && entries != std::filesystem::directory_iterator();
}

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t round_to_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  return (bytes + page - 1) / page * page;
}

void random_bytes(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    HAWSER_ASSERT(got > 0 || errno == EINTR);
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  random_bytes(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

}  // namespace hawser::platform
