/* Two threads of a rank, each in a ping-pong of its own with a thread of the other rank:
 * "threads 2 MICROSECONDS" one way, and "threads 1 MICROSECONDS" under MPI_THREAD_MULTIPLE too. */
#include <pthread.h>

#include "line.h"
#include "micro.h"

typedef struct {
  int tag, rank;
  long rounds;
} Work;

static void* play(void* argument) {
  const Work* work = argument;
  char buffer[8] = {0};
  ping_pong(buffer, (int)sizeof buffer, MPI_BYTE, work->tag, work->rounds, work->rank);
  return NULL;
}

static double one_way(int threads, long rounds, int rank) {
  pthread_t started[2];
  Work work[2];
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int i = 0; i < threads; ++i) {
    work[i] = (Work){i, rank, rounds};
    if (pthread_create(&started[i], NULL, play, &work[i]) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

void run_threads(int argc, char** argv) {
  require_ranks(2);
  const int rank = world_rank();
  const long trial = 100, rounds_min = 20, rounds_max = 50000;
  Line* line = line_if_named(argc, argv);
  for (int threads = 1; threads <= 2; ++threads) {
    one_way(threads, trial, rank);
    const long rounds =
        repetitions(0.05, 2 * one_way(threads, trial, rank), rounds_min, rounds_max);
    Batches all;
    begin_batches(&all, line);
    for (int batch = 0; batch < batches; ++batch)
      add_batch(&all, 1e6 * one_way(threads, rounds, rank));
    print_batches(&all, "threads", threads, 4);
  }
  free_line(line);
}
