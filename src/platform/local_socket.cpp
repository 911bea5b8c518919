#include "platform/local_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hawser::platform {

namespace {

/// Names come from other processes, too.
Result<void> check_name(std::string_view name) {
  constexpr std::size_t bytes_max = sizeof(sockaddr_un::sun_path) - 1;
  if (!name.empty() && name.size() <= bytes_max) return {};
  return Error(ErrorClass::other,
               fmt::format("the name of an abstract socket has {} bytes; from 1 to {} are possible",
                           name.size(), bytes_max));
}

/// An abstract address: a zero byte, then the name, without a terminator.
socklen_t make_address(std::string_view name, sockaddr_un* address) {
  *address = sockaddr_un{};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Error socket_error(std::string_view call, std::string_view name) {
  return {ErrorClass::other,
          fmt::format("{} of the abstract socket '{}': {}", call, name, std::strerror(errno))};
}

FileDescriptor open_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Result<LocalSocket> LocalSocket::listen(std::string_view name) {
  HAWSER_TRY(check_name(name));
  sockaddr_un address;
  const socklen_t bytes = make_address(name, &address);
  FileDescriptor fd = open_socket();
  if (!fd.is_open()) return socket_error("opening", name);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0)
    return socket_error("binding", name);
  if (::listen(fd.get(), SOMAXCONN) != 0) return socket_error("listening", name);
  return LocalSocket(std::move(fd));
}

Result<LocalSocket> LocalSocket::connect(std::string_view name) {
  HAWSER_TRY(check_name(name));
  sockaddr_un address;
  const socklen_t bytes = make_address(name, &address);
  FileDescriptor fd = open_socket();
  if (!fd.is_open()) return socket_error("opening", name);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0)
    return socket_error("connecting", name);
  return LocalSocket(std::move(fd));
}

std::optional<LocalSocket> LocalSocket::accept() {
  const int fd = ::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return std::nullopt;
  return LocalSocket(FileDescriptor(fd));
}

bool LocalSocket::send(std::span<const std::byte> packet, int fd) {
  iovec piece{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

LocalSocket::Received LocalSocket::receive(std::span<std::byte> packet, std::size_t* bytes,
                                           FileDescriptor* fd) {
  iovec piece{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  message.msg_control = control.data();
  // Not all of `control`: its padding has room for a second descriptor, which nobody would close.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    const bool try_later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return try_later ? Received::nothing : Received::closed;
  }
  if (got == 0) return Received::closed;
  *bytes = static_cast<std::size_t>(got);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof(int));
    *fd = FileDescriptor(received);
  }
  return Received::packet;
}

Result<LocalSocket::Peer> LocalSocket::peer() const {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
    return Error(ErrorClass::other,
                 fmt::format("asking for a peer's credentials: {}", std::strerror(errno)));
  return Peer{credentials.pid, credentials.uid};
}

}  // namespace hawser::platform
