/* "allreduce RANKS MICROSECONDS" of 4 bytes and "barrier RANKS MICROSECONDS": the time of one call
 * in a row of calls, by the slowest rank. */
#include "micro.h"

static void allreduce(void) {
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static double per_call(void (*call)(void), long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (long i = 0; i < calls; ++i) call();
  const double mine = (MPI_Wtime() - began) / (double)calls;
  double slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(const char* name, void (*call)(void)) {
  const double batch_seconds = 0.02;
  const long trial = 50, calls_min = 10, calls_max = 20000;
  per_call(call, trial);
  const double wanted = batch_seconds / per_call(call, trial); /* the same on all ranks */
  const long calls = wanted < calls_min ? calls_min : wanted > calls_max ? calls_max : (long)wanted;
  double seconds[batches];
  for (int batch = 0; batch < batches; ++batch) seconds[batch] = per_call(call, calls);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (world_rank() == 0) printf("%s %d %.3f\n", name, size, median(seconds, batches) * 1e6);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  measure("allreduce", allreduce);
  measure("barrier", barrier);
  MPI_Finalize();
  return 0;
}
