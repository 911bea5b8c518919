/* Ping-pong of a vector of doubles, every second one: "strided BYTES MICROSECONDS" one way. */
#include "micro.h"

void run_strided(int argc, char** argv) {
  (void)argc;
  (void)argv;
  require_ranks(2);
  const int rank = world_rank(), tag = 0, stride = 2, doubles_max = (4 << 20) / (int)sizeof(double);
  const long trial = 5, rounds_min = 2, rounds_max = 20000;
  double* buffer = allocate((size_t)doubles_max * (size_t)stride * sizeof *buffer);
  for (int doubles = 1; doubles <= doubles_max; doubles *= 4) {
    MPI_Datatype type;
    MPI_Type_vector(doubles, 1, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    ping_pong(buffer, 1, type, tag, trial, rank);
    const long rounds =
        repetitions(0.01, 2 * ping_pong(buffer, 1, type, tag, trial, rank), rounds_min, rounds_max);
    double seconds[batches];
    for (int batch = 0; batch < batches; ++batch)
      seconds[batch] = ping_pong(buffer, 1, type, tag, rounds, rank);
    if (rank == 0)
      printf("strided %d %.4f\n", doubles * (int)sizeof *buffer, median(seconds, batches) * 1e6);
    MPI_Type_free(&type);
  }
  free(buffer);
}
