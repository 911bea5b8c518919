#include "platform/bell.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/time.hpp"

namespace hawser::platform {

namespace {

FileDescriptor open_bell_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// An abstract address: a zero byte, then the name.
socklen_t address_of_bell(std::uint64_t number, sockaddr_un* address) {
  *address = sockaddr_un{};
  address->sun_family = AF_UNIX;
  const std::string name = fmt::format("hawser-bell-{:016x}", number);
  name.copy(address->sun_path + 1, name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace

Result<Bell> Bell::make() {
  const std::uint64_t number = std::max<std::uint64_t>(random_number(), 1);
  FileDescriptor socket = open_bell_socket();
  sockaddr_un address;
  const socklen_t bytes = address_of_bell(number, &address);
  if (!socket.is_open() ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0)
    return Error(ErrorClass::other,
                 fmt::format("a socket to be woken by cannot be had: {}", std::strerror(errno)));
  return Bell(number, std::move(socket));
}

void Bell::silence() {
  std::array<std::byte, 64> heard;
  while (::recv(socket_.get(), heard.data(), heard.size(), 0) >= 0) {
  }
}

void ring_bell(std::uint64_t number) {
  const FileDescriptor socket = open_bell_socket();
  sockaddr_un address;
  const socklen_t bytes = address_of_bell(number, &address);
  const char ding = 0;
  // A full socket rings already; one that is gone needs no waking.
  ::sendto(socket.get(), &ding, sizeof(ding), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), bytes);
}

void wait_for_any(std::span<const int> descriptors, std::uint64_t timeout_ns) {
  std::array<pollfd, 16> polled{};
  const std::size_t count = std::min(descriptors.size(), polled.size());
  for (std::size_t i = 0; i < count; ++i) polled[i] = {descriptors[i], POLLIN, 0};
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000U),
                         static_cast<long>(timeout_ns % 1'000'000'000U)};
  ::ppoll(polled.data(), count, timeout_ns == base::never_ns ? nullptr : &timeout, nullptr);
}

}  // namespace hawser::platform
