// Calls of the C library by which librdmacm talks to its device: open, write, close and fstat. What
// is about other files goes on to whoever is next: it costs one load and one comparison, takes no
// lock, and may happen in signal handlers, before main, and in children of fork or vfork.
//
// A descriptor may be closed without our knowledge (dup2, close_range), and its number be another
// file's then: the file itself, as fstat tells it, says whether it is still the one that we opened.
// In a child of fork the device is the parent's: ENODEV.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/cm_service.hpp"
#include "softrdma/verbs/next_function.hpp"

namespace softrdma::verbs {
namespace {

constexpr const char* connection_node = "/dev/infiniband/rdma_cm";

constinit NextFunction<int(const char*, int, ...)> next_open{"open"};
constinit NextFunction<int(const char*, int, ...)> next_open64{"open64"};
constinit NextFunction<ssize_t(int, const void*, std::size_t)> next_write{"write"};
constinit NextFunction<int(int)> next_close{"close"};
constinit NextFunction<int(int, struct stat*)> next_fstat{"fstat"};

/// So that none is looked up in a signal handler.
__attribute__((constructor)) void look_up_next_functions() {
  next_open.get();
  next_open64.get();
  next_write.get();
  next_close.get();
  next_fstat.get();
}

/// Descriptors that may be ours: below the limit, a bit for each.
constexpr std::size_t descriptors_max = 65536;
constexpr std::size_t bits = 64;
constinit std::array<std::atomic<std::uint64_t>, descriptors_max / bits> may_be_ours_bits{};

/// What an open one was when we opened it.
struct OpenedFile {
  std::atomic<ino_t> inode;
  std::atomic<pid_t> process;
};
constinit std::array<OpenedFile, descriptors_max> opened_files{};

std::uint64_t bit_of(int descriptor) {
  return std::uint64_t{1} << static_cast<std::size_t>(descriptor) % bits;
}
std::atomic<std::uint64_t>& word_of(int descriptor) {
  return may_be_ours_bits[static_cast<std::size_t>(descriptor) / bits];
}

bool may_be_ours(int descriptor) {
  return static_cast<std::size_t>(static_cast<unsigned>(descriptor)) < descriptors_max &&
         (word_of(descriptor).load(std::memory_order_relaxed) & bit_of(descriptor)) != 0;
}

OpenedFile& opened_file(int descriptor) {
  return opened_files[static_cast<std::size_t>(descriptor)];
}

/// Whether DESCRIPTOR, which may be ours, is the file that we opened, here or in a parent.
bool is_same_file(int descriptor) {
  struct stat now;
  return next_fstat.get()(descriptor, &now) == 0 &&
         now.st_ino == opened_file(descriptor).inode.load(std::memory_order_relaxed);
}
bool is_of_this_process(int descriptor) {
  return opened_file(descriptor).process.load(std::memory_order_relaxed) == ::getpid();
}

void forget_descriptor(int descriptor) {
  word_of(descriptor).fetch_and(~bit_of(descriptor));
  ConnectionService::get()->close(descriptor);
}

int open_connection_node(int flags) {
  ConnectionService* const service = ConnectionService::get();
  if (service == nullptr) {
    errno = ENODEV;
    return -1;
  }
  const int descriptor = service->open(flags);
  if (descriptor < 0) return descriptor;
  struct stat made {};
  if (static_cast<std::size_t>(descriptor) >= descriptors_max ||
      next_fstat.get()(descriptor, &made) != 0) {
    service->close(descriptor);
    next_close.get()(descriptor);
    errno = EMFILE;
    return -1;
  }
  opened_file(descriptor).inode = made.st_ino;
  opened_file(descriptor).process = ::getpid();
  word_of(descriptor).fetch_or(bit_of(descriptor));
  return descriptor;
}

bool is_connection_node(const char* path) {
  return path != nullptr && std::strcmp(path, connection_node) == 0;
}

/// Those that are made with a file have a mode behind them.
bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

ssize_t write_command(int descriptor, const void* data, std::size_t bytes) {
  if (!is_of_this_process(descriptor)) {
    errno = ENODEV;
    return -1;
  }
  const ssize_t done =
      ConnectionService::get()->execute(descriptor, {static_cast<const std::byte*>(data), bytes});
  if (done >= 0) return done;
  errno = static_cast<int>(-done);
  return -1;
}

/// Programs look whether what they opened is a device.
void show_as_device(struct stat* out) {
  constexpr unsigned misc_major = 10;
  struct stat real {};
  const bool has_real = ::fstatat(AT_FDCWD, connection_node, &real, 0) == 0;
  out->st_mode = S_IFCHR | 0666;
  out->st_rdev = has_real ? real.st_rdev : makedev(misc_major, 58);
}

int stat_descriptor(int descriptor, struct stat* out) {
  const int error = next_fstat.get()(descriptor, out);
  if (error != 0 || !may_be_ours(descriptor) || !is_same_file(descriptor)) return error;
  show_as_device(out);
  return 0;
}

}  // namespace

SOFTRDMA_EXPORT int open(const char* path, int flags, ...) {
  if (is_connection_node(path)) return open_connection_node(flags);
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next_open.get()(path, flags, mode);
}

SOFTRDMA_EXPORT int open64(const char* path, int flags, ...) {
  if (is_connection_node(path)) return open_connection_node(flags);
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = has_mode(flags) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next_open64.get()(path, flags, mode);
}

SOFTRDMA_EXPORT ssize_t write(int descriptor, const void* data, std::size_t bytes) {
  if (!may_be_ours(descriptor) || !is_same_file(descriptor)) [[likely]]
    return next_write.get()(descriptor, data, bytes);
  return write_command(descriptor, data, bytes);
}

SOFTRDMA_EXPORT int close(int descriptor) {
  if (may_be_ours(descriptor) && is_of_this_process(descriptor)) forget_descriptor(descriptor);
  return next_close.get()(descriptor);
}

SOFTRDMA_EXPORT int fstat(int descriptor, struct stat* out) noexcept {
  return stat_descriptor(descriptor, out);
}

SOFTRDMA_EXPORT int fstat64(int descriptor, struct stat64* out) noexcept {
  static_assert(sizeof(struct stat64) == sizeof(struct stat));
  return stat_descriptor(descriptor, reinterpret_cast<struct stat*>(out));
}

}  // namespace softrdma::verbs
