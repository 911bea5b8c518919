// MPI_Comm_join (MPI-5.0 §11.10.4): two processes that have a socket in common connect.
//
//   both:            | magic: the bytes H W S J | version 32 (1) | nonce 256 |
//   the larger nonce: | port name, filled up with zeros to MPI_MAX_PORT_NAME bytes |
// An empty name says that there is no port to be had. Whoever reads the socket learns the name:
// it is the program's affair whom it connects.
#pragma once

#include "dynamic/connections.hpp"

namespace hawser::dynamic {

/// FD is connected, quiescent, and stays the caller's. SELF is a communicator of this process
/// alone. MPI_ERR_ARG if nobody answers by FD as it should be.
Result<Ref<Comm>> join(Connections& connections, int fd, Comm& self);

}  // namespace hawser::dynamic
