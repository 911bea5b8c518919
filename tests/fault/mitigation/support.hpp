// What the programs of this folder share: checks that end the job with a sentence, and ranks that
// kill themselves.
//
// Threads: one.
#pragma once

#include <mpi-ext.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <vector>

#include "tests/multirank/check.hpp"

namespace mitigation {

using multirank::class_of;
using multirank::rank_in;
using multirank::size_of;

inline void require(bool holds, const char* what,
                    const std::source_location& where = std::source_location::current()) {
  if (holds) return;
  std::printf("%s:%u: rank %d: %s\n", where.file_name(), where.line(), rank_in(MPI_COMM_WORLD),
              what);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/// CODE must be of the class WANTED.
inline void require_class(int code, int wanted, const char* what,
                          const std::source_location& where = std::source_location::current()) {
  if (class_of(code) == wanted) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::printf("%s:%u: rank %d: %s: code %d (%s), not of class %d\n", where.file_name(),
              where.line(), rank_in(MPI_COMM_WORLD), what, code, text, wanted);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/// Whoever leaves it knows that all have come here, and may die. Making a communicator does not
/// wait for the others to have it, and theirs fails where it needs the dead one still.
inline void meet() {
  const int met = class_of(MPI_Barrier(MPI_COMM_WORLD));
  require(met == MPI_SUCCESS || met == MPIX_ERR_PROC_FAILED, "all have met, or one has died since");
}

/// A duplicate of the world that returns its errors, which all have.
inline MPI_Comm duplicate_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  require_class(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS, "dup");
  meet();
  return comm;
}

[[noreturn]] inline void die() {
  std::raise(SIGKILL);
  std::abort();
}

/// Until COMM's process knows of COUNT failures: an operation that can't succeed waits for each.
inline void await_failure(MPI_Comm comm, int victim) {
  int word = 0;
  require_class(MPI_Recv(&word, 1, MPI_INT, victim, 9999, comm, MPI_STATUS_IGNORE),
                MPIX_ERR_PROC_FAILED, "a receive from a rank that is dead");
}

}  // namespace mitigation
