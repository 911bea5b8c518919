// mpi.h and mpi-ext.h with their functions visible outside the library; everything else is hidden.
#pragma once

#pragma GCC visibility push(default)
#include <mpi-ext.h>
#include <mpi.h>
#pragma GCC visibility pop

/// MPI_X is a weak alias of PMPI_X, so that a profiling tool may replace it.
#define HAWSER_WEAK_ALIAS(name) \
  extern "C" decltype(P##name) name __attribute__((weak, alias("P" #name)))
