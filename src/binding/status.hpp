// MPI_Status <-> core::Status.
//
//   MPI_internal[0..1]  bytes received, 64 bits, native byte order
//   MPI_internal[2]     1 if the operation was cancelled
//   MPI_internal[3..4]  unused, zero
#pragma once

#include <cstring>

#include "binding/mpi_abi.hpp"
#include "core/request/request.hpp"

namespace hawser::binding {

static_assert(sizeof(MPI_Status) == 32);

/// Everything but MPI_ERROR, which calls for a single operation leave alone (MPI-5.0 §3.2.5); an
/// empty status has it too (§3.7.3).
inline void write_status(const core::Status& status, MPI_Status& out) {
  if (status.source == MPI_ANY_SOURCE) out.MPI_ERROR = MPI_SUCCESS;
  out.MPI_SOURCE = status.source;
  out.MPI_TAG = status.tag;
  std::memcpy(out.MPI_internal, &status.bytes, sizeof status.bytes);
  out.MPI_internal[2] = status.cancelled ? 1 : 0;
  out.MPI_internal[3] = 0;
  out.MPI_internal[4] = 0;
}

inline core::Status read_status(const MPI_Status& in) {
  core::Status status;
  status.source = in.MPI_SOURCE;
  status.tag = in.MPI_TAG;
  status.error = in.MPI_ERROR;
  status.cancelled = in.MPI_internal[2] != 0;
  std::memcpy(&status.bytes, in.MPI_internal, sizeof status.bytes);
  return status;
}

}  // namespace hawser::binding
