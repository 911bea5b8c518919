#include "platform/event.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
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

Result<FileDescriptor> make_timer(std::uint64_t period_ns) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  FileDescriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  timespec period{};
  period.tv_sec = static_cast<time_t>(period_ns / second_ns);
  period.tv_nsec = static_cast<long>(period_ns % second_ns);
  const itimerspec setting{.it_interval = period, .it_value = period};
  if (!timer.is_open() || ::timerfd_settime(timer.get(), 0, &setting, nullptr) != 0)
    return Error(ErrorClass::other, fmt::format("timerfd: {}", std::strerror(errno)));
  return timer;
}

}  // namespace hawser::platform
