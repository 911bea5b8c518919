/* A nonblocking message of 8 MiB behind a computation that takes as long as the message alone:
 * "overlap BYTES PERCENT", the part of the message's time that the computation hides. 100: all. */
#include "micro.h"

static volatile double sink;

/* ROUNDS of arithmetic in registers. */
static void compute(long rounds) {
  double x = 1.0;
  for (long i = 0; i < rounds; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}

static double transfer(char* buffer, int bytes, long rounds, int rank) {
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (rank == 0)
    MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  compute(rounds);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double mine = MPI_Wtime() - began;
  double slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static double middle_transfer(char* buffer, int bytes, long rounds, int rank) {
  double seconds[batches];
  for (int batch = 0; batch < batches; ++batch)
    seconds[batch] = transfer(buffer, bytes, rounds, rank);
  return median(seconds, batches);
}

static double middle_compute(long rounds) {
  double seconds[batches];
  for (int batch = 0; batch < batches; ++batch) {
    const double began = MPI_Wtime();
    compute(rounds);
    seconds[batch] = MPI_Wtime() - began;
  }
  return median(seconds, batches);
}

void run_overlap(int argc, char** argv) {
  (void)argc;
  (void)argv;
  require_ranks(2);
  const int rank = world_rank(), bytes = 8 << 20;
  const long trial = 1000000;
  char* buffer = allocate((size_t)bytes);
  transfer(buffer, bytes, 0, rank);
  const double alone = middle_transfer(buffer, bytes, 0, rank);
  const long rounds = repetitions(alone, middle_compute(trial) / (double)trial, 1, 1L << 40);
  const double computing = middle_compute(rounds);
  const double together = middle_transfer(buffer, bytes, rounds, rank);
  const double hidden = (alone + computing - together) / alone;
  if (rank == 0) printf("overlap %d %.1f\n", bytes, 100 * (hidden < 0 ? 0 : hidden));
  free(buffer);
}
