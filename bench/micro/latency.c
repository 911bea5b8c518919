/* Ping-pong between two ranks: "latency BYTES MICROSECONDS" one way, for sizes up to 4 MiB. */
#include "line.h"
#include "micro.h"

static double one_way(Places* places, int bytes, long rounds, int rank) {
  const int peer = 1 - rank, tag = 0;
  const size_t length = (size_t)bytes;
  const MPI_Comm world = MPI_COMM_WORLD;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(next_place(places, length), bytes, MPI_BYTE, peer, tag, world);
    MPI_Recv(next_place(places, length), bytes, MPI_BYTE, peer, tag, world, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(next_place(places, length), bytes, MPI_BYTE, peer, tag, world);
  }
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

void run_latency(int argc, char** argv) {
  require_ranks(2);
  const int rank = world_rank(), bytes_max = 4 << 20;
  const long trial = 20, rounds_min = 4, rounds_max = 20000;
  const double batch_seconds = 0.01;
  Places places = make_places((size_t)bytes_max, has_argument(argc, argv, "fresh"));
  Line* line = line_if_named(argc, argv);
  for (int bytes = 0; bytes <= bytes_max; bytes = next_length(bytes)) {
    one_way(&places, bytes, trial, rank); /* pages, channels */
    const long rounds = repetitions(batch_seconds, 2 * one_way(&places, bytes, trial, rank),
                                    rounds_min, rounds_max);
    Batches all;
    begin_batches(&all, line);
    for (int batch = 0; batch < batches; ++batch)
      add_batch(&all, 1e6 * one_way(&places, bytes, rounds, rank));
    print_batches(&all, "latency", bytes, 4);
  }
  free_line(line);
  free(places.memory);
}
