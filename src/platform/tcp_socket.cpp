#include "platform/tcp_socket.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hawser::platform {

namespace {

FileDescriptor open_tcp_socket(bool is_v6) {
  return FileDescriptor(
      ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

/// A socket address in its general form.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpAddress& address, std::uint16_t port) {
  SocketAddress made;
  if (address.is_v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_scope_id = address.scope;
    std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof(v6.sin6_addr));
    std::memcpy(&made.storage, &v6, sizeof(v6));
    made.bytes = sizeof(v6);
    return made;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  std::memcpy(&v4.sin_addr, address.bytes.data(), sizeof(v4.sin_addr));
  std::memcpy(&made.storage, &v4, sizeof(v4));
  made.bytes = sizeof(v4);
  return made;
}

/// Nothing for what is neither version 4 nor 6. One of version 4 that an IPv6 socket carries is one
/// of version 4.
std::optional<IpAddress> ip_address_of(const sockaddr_storage& storage) {
  constexpr std::size_t mapped_prefix_bytes = 12;
  IpAddress address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof(v4));
    std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof(v4.sin_addr));
    return address;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6;
  std::memcpy(&v6, &storage, sizeof(v6));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    std::memcpy(address.bytes.data(), v6.sin6_addr.s6_addr + mapped_prefix_bytes, sizeof(in_addr));
    return address;
  }
  std::memcpy(address.bytes.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
  address.is_v6 = true;
  address.scope = v6.sin6_scope_id;
  return address;
}

/// What GET, getsockname or getpeername, says of FD.
template <class Get>
std::optional<IpAddress> address_by(Get&& get, int fd) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (get(fd, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return std::nullopt;
  return ip_address_of(storage);
}

/// Whether a call failed with ERROR for want of descriptors, or of memory for them.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// Nothing has to wait for the kernel's choice; a zero error means that it worked.
int try_to_listen(bool is_v6, FileDescriptor* made) {
  FileDescriptor fd = open_tcp_socket(is_v6);
  if (!fd.is_open()) return errno;
  if (is_v6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const SocketAddress any = socket_address(IpAddress{.is_v6 = is_v6}, 0);
  if (::bind(fd.get(), any.get(), any.bytes) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return errno;
  *made = std::move(fd);
  return 0;
}

TcpSocket::Moved moved_of(ssize_t bytes) {
  using Outcome = TcpSocket::Outcome;
  if (bytes >= 0) return {Outcome::some, static_cast<std::size_t>(bytes), 0};
  const bool is_later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {is_later ? Outcome::none : Outcome::failed, 0, errno};
}

}  // namespace

Result<TcpSocket> TcpSocket::listen() {
  FileDescriptor fd;
  int error = try_to_listen(true, &fd);
  if (error != 0) error = try_to_listen(false, &fd);
  if (error != 0)
    return Error(ErrorClass::other,
                 fmt::format("a socket to listen on cannot be had: {}", std::strerror(error)));
  return TcpSocket(std::move(fd));
}

Result<TcpSocket> TcpSocket::open_to_connect(bool is_v6) {
  FileDescriptor fd = open_tcp_socket(is_v6);
  if (!fd.is_open())
    return Error(is_shortage(errno) ? ErrorClass::no_mem : ErrorClass::other,
                 fmt::format("a socket cannot be had: {}", std::strerror(errno)));
  return TcpSocket(std::move(fd));
}

Result<void> TcpSocket::begin_to_connect(const IpAddress& address, std::uint16_t port) {
  const SocketAddress to = socket_address(address, port);
  if (::connect(fd_.get(), to.get(), to.bytes) != 0 && errno != EINPROGRESS)
    return Error(ErrorClass::other, std::strerror(errno));
  return {};
}

Result<TcpSocket> TcpSocket::connect(const IpAddress& address, std::uint16_t port) {
  auto made = open_to_connect(address.is_v6);
  if (!made) return made.take_error();
  HAWSER_TRY(made->begin_to_connect(address, port));
  return made;
}

Result<TcpSocket> TcpSocket::connect_from(const IpAddress& from, const std::string& interface,
                                          const IpAddress& address, std::uint16_t port) {
  auto made = open_to_connect(address.is_v6);
  if (!made) return made.take_error();
  // Refused to some; then the routes decide which way packets go that have this address.
  ::setsockopt(made->fd_.get(), SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
               static_cast<socklen_t>(interface.size()));
  const SocketAddress source = socket_address(from, 0);
  if (::bind(made->fd_.get(), source.get(), source.bytes) != 0)
    return Error(ErrorClass::other,
                 fmt::format("from {}: {}", text_of(from), std::strerror(errno)));
  HAWSER_TRY(made->begin_to_connect(address, port));
  return made;
}

std::optional<IpAddress> TcpSocket::local_address() const {
  return address_by(::getsockname, fd_.get());
}

std::optional<IpAddress> TcpSocket::remote_address() const {
  return address_by(::getpeername, fd_.get());
}

Result<std::optional<TcpSocket>> TcpSocket::accept() {
  const int fd = ::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) return std::optional(TcpSocket(FileDescriptor(fd)));
  if (is_shortage(errno))
    return Error(ErrorClass::no_mem,
                 fmt::format("a connection cannot be accepted: {}", std::strerror(errno)));
  return std::optional<TcpSocket>();
}

Result<std::uint16_t> TcpSocket::port() const {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &bytes) != 0)
    return Error(ErrorClass::other,
                 fmt::format("the port of a socket is unknown: {}", std::strerror(errno)));
  // Both versions have it at the same place.
  sockaddr_in address;
  std::memcpy(&address, &storage, sizeof(address));
  return ntohs(address.sin_port);
}

int TcpSocket::error() const {
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

TcpSocket::Moved TcpSocket::send(std::span<const iovec> pieces) {
  if (pieces.size() == 1)
    return moved_of(::send(fd_.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL));
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return moved_of(::sendmsg(fd_.get(), &message, MSG_NOSIGNAL));
}

TcpSocket::Moved TcpSocket::receive(std::span<std::byte> to) {
  const ssize_t bytes = ::recv(fd_.get(), to.data(), to.size(), 0);
  if (bytes == 0) return {Outcome::closed, 0, 0};
  return moved_of(bytes);
}

TcpSocket::Moved TcpSocket::receive(std::span<const iovec> places) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(places.data());
  message.msg_iovlen = places.size();
  const ssize_t bytes = ::recvmsg(fd_.get(), &message, 0);
  if (bytes == 0) return {Outcome::closed, 0, 0};
  return moved_of(bytes);
}

void TcpSocket::prepare(std::uint32_t timeout_s) {
  constexpr int probes = 4;
  const auto third_s = static_cast<int>(std::max(timeout_s / 3, 1U));
  const auto sixth_s = static_cast<int>(std::max(timeout_s / 6, 1U));
  set_option(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, third_s);
  set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, sixth_s);
  set_option(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, probes);
}

bool TcpSocket::is_silent(std::uint32_t timeout_s) const {
  constexpr unsigned attempts_min = 3;
  constexpr std::uint32_t ms_per_s = 1000;
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  if (::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  const bool is_repeated = info.tcpi_unacked > 0 && info.tcpi_retransmits >= attempts_min;
  const bool is_asked = info.tcpi_probes >= attempts_min;  // whether it has room again
  return (is_repeated || is_asked) && info.tcpi_last_ack_recv / ms_per_s >= timeout_s;
}

void TcpSocket::shut_down() { ::shutdown(fd_.get(), SHUT_RDWR); }

std::string error_text(int error) { return std::strerror(error); }

}  // namespace hawser::platform
