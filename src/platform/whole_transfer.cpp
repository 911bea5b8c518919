#include "platform/whole_transfer.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace hawser::platform {

namespace {

/// After a call that moved nothing: whether it is worth another one, which may be after a while.
bool is_worth_another(int descriptor, short event) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd polled{descriptor, event, 0};
  return ::poll(&polled, 1, -1) > 0 || errno == EINTR;
}

}  // namespace

bool write_whole(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t moved = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (moved < 0 && errno == ENOTSOCK) moved = ::write(descriptor, bytes.data(), bytes.size());
    if (moved < 0 && !is_worth_another(descriptor, POLLOUT)) return false;
    if (moved > 0) bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return true;
}

bool read_whole(int descriptor, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t moved = ::read(descriptor, bytes.data(), bytes.size());
    if (moved == 0) return false;
    if (moved < 0 && !is_worth_another(descriptor, POLLIN)) return false;
    if (moved > 0) bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return true;
}

}  // namespace hawser::platform
