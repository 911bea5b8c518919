/* Ping-pong between two ranks: "latency BYTES MICROSECONDS" one way, for sizes up to 4 MiB. */
#include "micro.h"

static double one_way(char* buffer, int bytes, long rounds, int rank) {
  const int peer = 1 - rank, tag = 0;
  const MPI_Comm world = MPI_COMM_WORLD;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, peer, tag, world);
    MPI_Recv(buffer, bytes, MPI_BYTE, peer, tag, world, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, bytes, MPI_BYTE, peer, tag, world);
  }
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

/* So many rounds that a batch takes about BATCH_SECONDS; both ranks agree. */
static long choose_rounds(char* buffer, int bytes, int rank) {
  const double batch_seconds = 0.01;
  const long trial = 20, rounds_min = 4, rounds_max = 20000;
  one_way(buffer, bytes, trial, rank); /* pages, channels */
  double seconds = 2 * one_way(buffer, bytes, trial, rank);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const double rounds = batch_seconds / seconds;
  return rounds < rounds_min ? rounds_min : rounds > rounds_max ? rounds_max : (long)rounds;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  require_ranks(2);
  const int rank = world_rank(), bytes_max = 4 << 20;
  char* buffer = allocate((size_t)bytes_max);
  for (int bytes = 0; bytes <= bytes_max; bytes = bytes == 0 ? 1 : 2 * bytes) {
    const long rounds = choose_rounds(buffer, bytes, rank);
    double seconds[batches];
    for (int batch = 0; batch < batches; ++batch)
      seconds[batch] = one_way(buffer, bytes, rounds, rank);
    if (rank == 0) printf("latency %d %.4f\n", bytes, median(seconds, batches) * 1e6);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
