// Port names (MPI-5.0 §11.9.1): what another job needs to call a process: who it is, where it is to
// be reached, and the key that lets a caller in. Whoever is told the name may connect.
#pragma once

#include <string>
#include <string_view>

#include "dynamic/wire.hpp"

namespace hawser::dynamic {

struct Port {
  bootstrap::Admission admission;
  Member server;
};

/// MPI_MAX_PORT_NAME, with the final zero.
inline constexpr std::size_t port_name_bytes_max = 1024;

/// MPI_ERR_PORT if SERVER has too many addresses for a name.
Result<std::string> port_name(const Port& port);
/// MPI_ERR_PORT unless NAME is one that port_name() wrote.
Result<Port> parse_port_name(std::string_view name);

/// Of messages about the port or connection ADMISSION.
int tag_of(std::uint64_t admission);

}  // namespace hawser::dynamic
