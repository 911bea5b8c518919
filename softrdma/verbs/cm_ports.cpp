#include "softrdma/verbs/cm_ports.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace softrdma::verbs {
namespace {

// As the system does it for TCP.
constexpr std::uint32_t first_free = 32768;
constexpr std::uint32_t free_count = 28232;

struct SocketName {
  sockaddr_un address{};
  socklen_t bytes = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

SocketName socket_name_of(const PortName& name, Holding holding) {
  const std::string text =
      fmt::format("softrdma.port.{:016x}.{:04x}.{}.{}", name.host, name.space, name.port,
                  holding == Holding::bound ? "bound" : "listening");
  SocketName out;
  out.address.sun_family = AF_UNIX;
  // An abstract name begins with a zero.
  std::ranges::copy(text, out.address.sun_path + 1);
  out.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return out;
}

PortHold open_port_socket() { return PortHold(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

}  // namespace

PortHold hold_port(const PortName& name, Holding holding) {
  PortHold hold = open_port_socket();
  const SocketName socket_name = socket_name_of(name, holding);
  if (!hold.is_open() || ::bind(hold.get(), socket_name.get(), socket_name.bytes) != 0) return {};
  return hold;
}

bool is_held(const PortName& name, Holding holding) {
  const PortHold probe = open_port_socket();
  const SocketName socket_name = socket_name_of(name, holding);
  return ::connect(probe.get(), socket_name.get(), socket_name.bytes) == 0;
}

PortHold hold_free_port(PortName* name) {
  const auto start = static_cast<std::uint32_t>(hawser::platform::random_number() % free_count);
  for (std::uint32_t i = 0; i < free_count; ++i) {
    name->port = static_cast<std::uint16_t>(first_free + (start + i) % free_count);
    if (PortHold hold = hold_port(*name, Holding::bound); hold.is_open()) return hold;
  }
  return {};
}

}  // namespace softrdma::verbs
