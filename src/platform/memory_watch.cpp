#include "platform/memory_watch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/clock.hpp"
#include "platform/thread.hpp"

namespace hawser::platform {
namespace {

// What older headers lack.
constexpr int user_mode_only = 1;                        // Linux 5.11
constexpr std::uint64_t write_protects_later = 1 << 15;  // any memory: Linux 6.7

constexpr std::uint64_t needed_features =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE;
constexpr std::uint64_t wanted_features =
    needed_features | UFFD_FEATURE_WP_HUGETLBFS_SHMEM | write_protects_later;

constexpr std::uint64_t settle_ns_max = 1'000'000'000;

Error refused_by_kernel(const char* call) {
  return {ErrorClass::other, fmt::format("{}: the kernel refuses: {}", call, std::strerror(errno))};
}

FileDescriptor open_descriptor() {
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_mode_only)));
}

/// Of the kernel, 0 if it says nothing.
std::uint64_t ask_features() {
  const FileDescriptor probe = open_descriptor();
  uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
  return ::ioctl(probe.get(), UFFDIO_API, &api) == 0 ? api.features : 0;
}

/// Pages of ALIGNMENT around MEMORY.
uffdio_range pages_around(std::span<const std::byte> memory, std::uint64_t alignment) {
  const auto begin = reinterpret_cast<std::uint64_t>(memory.data()) & ~(alignment - 1);
  const auto end = reinterpret_cast<std::uint64_t>(memory.data()) + memory.size();
  return {.start = begin, .len = ((end - begin) + alignment - 1) & ~(alignment - 1)};
}

bool watch_pages(const FileDescriptor& descriptor, const uffdio_range& pages) {
  uffdio_register request{.range = pages, .mode = UFFDIO_REGISTER_MODE_WP, .ioctls = 0};
  return ::ioctl(descriptor.get(), UFFDIO_REGISTER, &request) == 0;
}

/// False for an event that was not asked for.
bool parse_event(const uffd_msg& message, ChangedMemory* out) {
  switch (message.event) {
    case UFFD_EVENT_REMAP:
      *out = {message.arg.remap.from, message.arg.remap.from + message.arg.remap.len,
              MemoryChange::moved};
      return true;
    case UFFD_EVENT_UNMAP:
      *out = {message.arg.remove.start, message.arg.remove.end, MemoryChange::unmapped};
      return true;
    case UFFD_EVENT_REMOVE:
      *out = {message.arg.remove.start, message.arg.remove.end, MemoryChange::discarded};
      return true;
    default:
      return false;
  }
}

}  // namespace

MemoryWatch::MemoryWatch(FileDescriptor descriptor)
    : descriptor_(std::move(descriptor)), ending_(::eventfd(0, EFD_CLOEXEC)) {}

Result<std::unique_ptr<MemoryWatch>> MemoryWatch::start() {
  FileDescriptor descriptor = open_descriptor();
  if (!descriptor.is_open()) return refused_by_kernel("userfaultfd");
  uffdio_api api{.api = UFFD_API, .features = ask_features() & wanted_features, .ioctls = 0};
  if ((api.features & needed_features) != needed_features)
    return Error(ErrorClass::other,
                 "userfaultfd: this kernel does not tell of memory that is unmapped");
  if (::ioctl(descriptor.get(), UFFDIO_API, &api) != 0) return refused_by_kernel("UFFDIO_API");
  std::unique_ptr<MemoryWatch> watch(new MemoryWatch(std::move(descriptor)));
  if (!watch->ending_.is_open()) return refused_by_kernel("eventfd");
  if (auto watched = watch->watch_page_of_ours(); !watched.ok()) return watched.take_error();
  watch->thread_ = quiet_thread([raw = watch.get()] { raw->run(); });
  return watch;
}

MemoryWatch::~MemoryWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(ending_.get(), &one, sizeof(one));
    thread_.join();
  }
  // Nobody reads any more: with the descriptor open, unmapping our page would wait for ever.
  descriptor_.close();
}

Result<void> MemoryWatch::watch_page_of_ours() {
  auto page = Mapping::reserve(page_bytes());
  if (!page.ok()) return page.take_error();
  page_ = std::move(page.value());
  return watch({page_.data(), page_.bytes()});
}

/// The kernel wants whole pages, also of huge ones, of which nobody says how large they are.
Result<void> MemoryWatch::watch(std::span<const std::byte> memory) {
  if (memory.empty() || is_lost_) return {};
  int reason = 0;
  for (const std::size_t page : {page_bytes(), std::size_t{2} << 20, std::size_t{1} << 30}) {
    if (watch_pages(descriptor_, pages_around(memory, page))) return {};
    // The refusal of its own pages says why.
    if (reason == 0) reason = errno;
    if (errno != EINVAL) break;
  }
  errno = reason;
  return refused_by_kernel("UFFDIO_REGISTER");
}

/// The kernel says "again" to every request that has to do with the content of memory until the
/// last change was read.
bool MemoryWatch::is_changing() const {
  uffdio_writeprotect request{
      .range = {.start = reinterpret_cast<std::uint64_t>(page_.data()), .len = page_.bytes()},
      .mode = 0};
  return ::ioctl(descriptor_.get(), UFFDIO_WRITEPROTECT, &request) != 0 && errno == EAGAIN;
}

void MemoryWatch::settle() {
  if (is_lost_) return;
  const std::uint64_t give_up_ns = monotonic_ns() + settle_ns_max;
  while (is_changing() && monotonic_ns() < give_up_ns) yield_cpu();
}

void MemoryWatch::run() {
  for (;;) {
    std::array<pollfd, 2> waited{{{.fd = descriptor_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = ending_.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;
    // Anything else says that the descriptor is gone.
    if (waited[1].revents != 0 || waited[0].revents != POLLIN) return;
    {
      const std::lock_guard guard(mutex_);
      read_changes();
    }
    tell();
  }
}

void MemoryWatch::tell() {
  const std::lock_guard guard(listeners_mutex_);
  for (MemoryListener* listener = listeners_; listener != nullptr; listener = listener->next_)
    listener->on_memory_change();
}

void MemoryWatch::listen(MemoryListener& listener) {
  const std::lock_guard guard(listeners_mutex_);
  listener.next_ = std::exchange(listeners_, &listener);
}

void MemoryWatch::ignore(MemoryListener& listener) {
  const std::lock_guard guard(listeners_mutex_);
  MemoryListener** place = &listeners_;
  while (*place != nullptr && *place != &listener) place = &(*place)->next_;
  if (*place != nullptr) *place = listener.next_;
}

void MemoryWatch::read_changes() {
  std::array<uffd_msg, 16> messages;
  for (;;) {
    const ssize_t bytes = ::read(descriptor_.get(), messages.data(), sizeof(messages));
    if (bytes <= 0) return;
    const auto count = static_cast<std::size_t>(bytes) / sizeof(uffd_msg);
    ChangedMemory changed{};
    for (const uffd_msg& message : std::span(messages).first(count))
      if (parse_event(message, &changed)) keep(changed);
  }
}

void MemoryWatch::keep(const ChangedMemory& changed) { ring_[count_++ % ring_.size()] = changed; }

std::uint64_t MemoryWatch::position() {
  if (is_lost_) return 0;
  const std::lock_guard guard(mutex_);
  read_changes();
  return count_;
}

std::size_t MemoryWatch::take(std::uint64_t* position, std::span<ChangedMemory> out) {
  if (is_lost_) return 0;
  const std::lock_guard guard(mutex_);
  read_changes();
  if (count_ - *position > ring_.size() && !out.empty()) {
    *position = count_;
    out.front() = {0, UINTPTR_MAX, MemoryChange::unmapped};
    return 1;
  }
  const auto taken =
      static_cast<std::size_t>(std::min<std::uint64_t>(count_ - *position, out.size()));
  for (ChangedMemory& changed : out.first(taken)) changed = ring_[(*position)++ % ring_.size()];
  return taken;
}

void MemoryWatch::lose() {
  is_lost_ = true;
  // The parent has it too; who reads here takes the parent's changes away.
  descriptor_.close();
}

}  // namespace hawser::platform
