// Commands of the connection manager: what librdmacm writes to its device, in the structures of
// <rdma/rdma_user_cm.h>: a header, the command, and where in the program's memory its answer goes.
//
// Threads: any, without the service's mutex. Errors: an errno, as the kernel's; ENOSYS: a command
// that is not built.
#pragma once

#include <cstddef>
#include <span>

namespace softrdma::verbs {

class ConnectionService;

/// COMMAND was written to the channel DESCRIPTOR. 0 or an errno.
int execute_command(ConnectionService& service, int descriptor, std::span<const std::byte> command);

}  // namespace softrdma::verbs
