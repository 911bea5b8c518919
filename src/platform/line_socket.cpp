#include "platform/line_socket.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hawser::platform {

namespace {

constexpr std::size_t read_bytes = 1024;

Error failed(const char* what) {
  return {ErrorClass::other, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<void> LineSocket::send(std::string_view line) {
  std::string rest(line);
  rest += '\n';
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return failed("send");
    rest.erase(0, static_cast<std::size_t>(sent));
  }
  return {};
}

bool LineSocket::has_unread() const {
  int bytes = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

Result<std::string> LineSocket::receive() {
  while (true) {
    if (auto line = take_line()) return *std::move(line);
    const Result<bool> more = read_some(true);
    if (!more) return more.error();
  }
}

Result<std::optional<std::string>> LineSocket::try_receive() {
  while (true) {
    if (auto line = take_line()) return line;
    const Result<bool> more = read_some(false);
    if (!more) return more.error();
    if (!*more) return std::optional<std::string>();
  }
}

std::optional<std::string> LineSocket::take_line() {
  const std::size_t end = read_ahead_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = read_ahead_.substr(0, end);
  read_ahead_.erase(0, end + 1);
  return line;
}

Result<bool> LineSocket::read_some(bool waits) {
  if (read_ahead_.size() > line_bytes_max_)
    return Error(ErrorClass::other, fmt::format("a line has more than {} bytes", line_bytes_max_));
  std::array<char, read_bytes> bytes{};
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), waits ? 0 : MSG_DONTWAIT);
  if (got == 0) return Error(ErrorClass::other, "the other side has closed the connection");
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && !waits && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (got < 0) return failed("recv");
  read_ahead_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

bool is_socket(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace hawser::platform
