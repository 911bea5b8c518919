/* Ping-pong of a vector of doubles, every second one: "strided BYTES MICROSECONDS" one way. */
#include "micro.h"

static double one_way(double* buffer, MPI_Datatype type, long rounds, int rank) {
  const int peer = 1 - rank, tag = 0;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(buffer, 1, type, peer, tag, MPI_COMM_WORLD);
    MPI_Recv(buffer, 1, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, 1, type, peer, tag, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

void run_strided(int argc, char** argv) {
  (void)argc;
  (void)argv;
  require_ranks(2);
  const int rank = world_rank(), stride = 2, doubles_max = (4 << 20) / (int)sizeof(double);
  const long trial = 5, rounds_min = 2, rounds_max = 20000;
  double* buffer = allocate((size_t)doubles_max * (size_t)stride * sizeof *buffer);
  for (int doubles = 1; doubles <= doubles_max; doubles *= 4) {
    MPI_Datatype type;
    MPI_Type_vector(doubles, 1, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    one_way(buffer, type, trial, rank);
    const long rounds =
        repetitions(0.01, 2 * one_way(buffer, type, trial, rank), rounds_min, rounds_max);
    double seconds[batches];
    for (int batch = 0; batch < batches; ++batch)
      seconds[batch] = one_way(buffer, type, rounds, rank);
    if (rank == 0)
      printf("strided %d %.4f\n", doubles * (int)sizeof *buffer, median(seconds, batches) * 1e6);
    MPI_Type_free(&type);
  }
  free(buffer);
}
