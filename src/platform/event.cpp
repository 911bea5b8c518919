#include "platform/event.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hawser::platform {

Result<FileDescriptor> make_event() {
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.is_open())
    return Error(ErrorClass::other, fmt::format("eventfd: {}", std::strerror(errno)));
  return event;
}

void signal_event(const FileDescriptor& event) {
  const std::uint64_t one = 1;
  // It fails only if the event is readable already.
  static_cast<void>(!::write(event.get(), &one, sizeof(one)));
}

void clear_event(const FileDescriptor& event) {
  std::uint64_t count = 0;
  static_cast<void>(!::read(event.get(), &count, sizeof(count)));
}

}  // namespace hawser::platform
