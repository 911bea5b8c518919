/* Ping-pong of a vector of doubles, every second one: "strided BYTES MICROSECONDS" one way. */
#include "line.h"
#include "micro.h"

void run_strided(int argc, char** argv) {
  require_ranks(2);
  const int rank = world_rank(), tag = 0, stride = 2, doubles_max = (4 << 20) / (int)sizeof(double);
  const long trial = 5, rounds_min = 2, rounds_max = 20000;
  double* buffer = allocate((size_t)doubles_max * (size_t)stride * sizeof *buffer);
  Line* line = line_if_named(argc, argv);
  for (int doubles = 2; doubles <= doubles_max; doubles *= 4) {
    MPI_Datatype type;
    MPI_Type_vector(doubles, 1, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    ping_pong(buffer, 1, type, tag, trial, rank);
    const long rounds =
        repetitions(0.01, 2 * ping_pong(buffer, 1, type, tag, trial, rank), rounds_min, rounds_max);
    Batches all;
    begin_batches(&all, line);
    for (int batch = 0; batch < batches; ++batch)
      add_batch(&all, 1e6 * ping_pong(buffer, 1, type, tag, rounds, rank));
    print_batches(&all, "strided", doubles * (int)sizeof *buffer, 4);
    MPI_Type_free(&type);
  }
  free_line(line);
  free(buffer);
}
