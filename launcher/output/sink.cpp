#include "launcher/output/sink.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hawser::launcher {

Sink::Sink(int fd) : fd_(fd), write_bytes_max_(PIPE_BUF) {
  // A pipe that polls as writable takes PIPE_BUF bytes without blocking; a file takes all.
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) write_bytes_max_ = SSIZE_MAX;
}

void Sink::pump() {
  while (!is_empty() && !broken_) {
    pollfd query{fd_, POLLOUT, 0};
    if (::poll(&query, 1, 0) <= 0) break;
    const std::size_t bytes = std::min(pending_.size() - written_, write_bytes_max_);
    const ssize_t written = ::write(fd_, pending_.data() + written_, bytes);
    if (written > 0) {
      written_ += static_cast<std::size_t>(written);
    } else if (errno != EINTR && errno != EAGAIN) {
      broken_ = true;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  if (!is_empty() && !broken_) return;
  pending_.clear();
  written_ = 0;
}

bool lead_to_the_same(int fd, int other) {
  struct stat one {};
  struct stat two {};
  return ::fstat(fd, &one) == 0 && ::fstat(other, &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

}  // namespace hawser::launcher
