// FileDescriptor and Mapping: owners of what the kernel hands out.
//
// Ownership: move-only; the destructor closes or unmaps.
// Errors:    sentences with the call and the kernel's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace hawser::platform {

using base::Error;
using base::ErrorClass;
using base::Result;

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

/// Memory shared through a file descriptor, readable and writable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  /// Maps BYTES (a multiple of the page size) of FD from OFFSET on.
  static Result<Mapping> shared(const FileDescriptor& fd, std::size_t offset, std::size_t bytes);
  /// Reserves BYTES of address space without memory; parts are mapped into it by map_over.
  static Result<Mapping> reserve(std::size_t bytes);
  /// Maps BYTES of FD from OFFSET on over the reserved range at OFFSET of this mapping.
  Result<void> map_over(const FileDescriptor& fd, std::size_t offset, std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// An anonymous file without a name anywhere in the file system: BYTES of zeros, sealed against
/// shrinking, closed on exec unless INHERITABLE. The pages are allocated when first touched; see
/// allocate_pages for the ones that must not fail later.
Result<FileDescriptor> create_anonymous_file(const char* label, std::size_t bytes,
                                             bool inheritable = false);
/// Grows the file to cover [offset, offset + bytes) with memory that is really there, so that
/// running out is an error here and no SIGBUS later. MPI_ERR_NO_MEM.
Result<void> allocate_pages(const FileDescriptor& fd, std::size_t offset, std::size_t bytes);
/// The opposite: their memory goes back to the host, and they read as zeros. False if the host
/// can't.
bool release_pages(const FileDescriptor& fd, std::size_t offset, std::size_t bytes);
Result<std::size_t> file_size(const FileDescriptor& fd);
/// False too for a number that is not open or is no anonymous file.
bool is_sealed_against_shrinking(const FileDescriptor& fd);
/// Keeps FD from the programs that this process starts.
void close_on_exec(const FileDescriptor& fd);
/// What DESCRIPTOR, somebody else's, has nothing for ends at once from now on.
void never_wait_on(int descriptor);
/// FOLDER exists and has something in it.
bool has_entries(const std::string& folder);
std::size_t page_bytes();
/// BYTES rounded up to whole pages.
std::size_t round_to_pages(std::size_t bytes);

/// Bytes from the kernel's generator, for keys and cookies.
void random_bytes(std::span<std::byte> out);
/// A number of them.
std::uint64_t random_number();

}  // namespace hawser::platform
