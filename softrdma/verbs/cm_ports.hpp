// Ports of the connection manager: each belongs to one holder on a host. What holds it is a socket
// with an abstract name, so that the kernel gives it back when its process dies.
//
// Ownership: a PortHold gives its port back when it goes. Threads: any.
#pragma once

#include <cstdint>
#include <optional>

#include "platform/file.hpp"

namespace softrdma::verbs {

using PortHold = hawser::platform::FileDescriptor;

/// What is held: the port itself, or that somebody listens on it.
enum class Holding : std::uint8_t { bound, listening };

struct PortName {
  std::uint64_t host = 0;  // a number that the processes of a host share
  std::uint16_t space = 0;
  std::uint16_t port = 0;
};

/// Not open if somebody has it.
PortHold hold_port(const PortName& name, Holding holding);
[[nodiscard]] bool is_held(const PortName& name, Holding holding);
/// One that nobody had, and its number goes to NAME->port; not open if all are taken.
PortHold hold_free_port(PortName* name);

}  // namespace softrdma::verbs
