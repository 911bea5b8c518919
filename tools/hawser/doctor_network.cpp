// Checks of sockets and of the host's place in a network.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "hawser/doctor.hpp"
#include "platform/file.hpp"
#include "platform/local_socket.hpp"
#include "platform/process.hpp"

namespace hawser::tools {
namespace {

using platform::FileDescriptor;
using platform::LocalSocket;

constexpr int timeout_ms = 2000;

bool wait_readable(int fd) {
  pollfd readable{fd, POLLIN, 0};
  return ::poll(&readable, 1, timeout_ms) == 1;
}

Finding socket_failure(std::string sentence) {
  return {Verdict::fail, "descriptor passing", std::move(sentence),
          "ranks attach each other's memory over abstract Unix sockets; allow them in the "
          "container's seccomp or AppArmor profile."};
}

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address->sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  ::inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

/// One byte through TCP over 127.0.0.1; the call that failed, or null.
const char* failed_loopback_call() {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const FileDescriptor sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open() || !sender.is_open()) return "socket";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  if (::bind(listener.get(), generic, bytes) != 0) return "bind";
  if (::listen(listener.get(), 1) != 0) return "listen";
  if (::getsockname(listener.get(), generic, &bytes) != 0) return "getsockname";
  if (::connect(sender.get(), generic, bytes) != 0 && errno != EINPROGRESS) return "connect";
  if (!wait_readable(listener.get())) return "connect";
  const FileDescriptor receiver(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!receiver.is_open()) return "accept";
  char byte = 'h';
  if (::send(sender.get(), &byte, 1, MSG_NOSIGNAL) != 1) return "send";
  if (!wait_readable(receiver.get()) || ::recv(receiver.get(), &byte, 1, 0) != 1) return "recv";
  return nullptr;
}

}  // namespace

Finding check_socket_and_descriptor() {
  std::array<std::byte, 8> nonce{};
  platform::random_bytes(nonce);
  std::uint64_t number = 0;
  std::memcpy(&number, nonce.data(), sizeof number);
  const std::string name = fmt::format("hawser-doctor-{:016x}", number);
  auto listener = LocalSocket::listen(name);
  if (!listener.ok()) return socket_failure(listener.error().sentence() + ".");
  auto sender = LocalSocket::connect(name);
  if (!sender.ok()) return socket_failure(sender.error().sentence() + ".");
  std::optional<LocalSocket> receiver;
  if (wait_readable(listener->fd())) receiver = listener->accept();
  if (!receiver) return socket_failure("no connection arrived.");

  const std::size_t page = platform::page_bytes();
  const auto sent = platform::create_anonymous_file("hawser doctor", page);
  if (!sent.ok()) return socket_failure(sent.error().sentence() + ".");
  std::array<std::byte, 1> packet{};
  if (!sender->send(packet, sent->get())) return socket_failure("a descriptor was not sent.");
  std::size_t bytes = 0;
  FileDescriptor received;
  if (!wait_readable(receiver->fd()) ||
      receiver->receive(packet, &bytes, &received) != LocalSocket::Received::packet ||
      !received.is_open())
    return socket_failure("a descriptor that was sent did not arrive.");
  const auto size = platform::file_size(received);
  if (!size.ok() || *size != page) return socket_failure("a descriptor arrived as another one.");
  return {Verdict::ok, "descriptor passing",
          "memory travels over an abstract Unix socket (SCM_RIGHTS)."};
}

Finding check_host_name() {
  const std::string name = platform::host_name();
  if (name.empty() || name == "localhost" || name == "(none)") {
    return {Verdict::warn, "host name",
            fmt::format("'{}' tells this host from no other in reports.", name),
            "hostnamectl set-hostname NAME."};
  }
  return {Verdict::ok, "host name", name + "."};
}

Finding check_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return {Verdict::warn, "interfaces", fmt::format("getifaddrs: {}.", std::strerror(errno))};
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::string text;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry->ifa_name,
                        address_text(entry->ifa_addr));
  }
  if (text.empty()) return {Verdict::warn, "interfaces", "none is up with an IP address."};
  return {Verdict::ok, "interfaces", text + "."};
}

Finding check_loopback() {
  const char* call = failed_loopback_call();
  if (call == nullptr) return {Verdict::ok, "loopback", "TCP over 127.0.0.1 works."};
  return {
      Verdict::warn, "loopback",
      fmt::format("TCP over 127.0.0.1 does not work ({}: {}); ranks of one host do not need it.",
                  call, std::strerror(errno)),
      "ip link set lo up."};
}

}  // namespace hawser::tools
