/* "blocked RANKS SECONDS LARGEST-CPU-SECONDS": ranks 1 and up wait in MPI_Recv for SECONDS while
 * rank 0 is away; how much time of a core the busiest of them uses. */
#include <sys/resource.h>
#include <time.h>

#include "micro.h"

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

void run_blocked(int argc, char** argv) {
  const long seconds = argc > 0 ? strtol(argv[0], NULL, 10) : 10;
  const int rank = world_rank(), size = world_size(), tag = 0;
  MPI_Barrier(MPI_COMM_WORLD);

  double used = 0.0, largest = 0.0;
  if (rank == 0) {
    const struct timespec pause = {.tv_sec = seconds};
    nanosleep(&pause, NULL);
    for (int peer = 1; peer < size; ++peer) MPI_Send(NULL, 0, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  } else {
    const double before = cpu_seconds();
    MPI_Recv(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    used = cpu_seconds() - before;
  }
  MPI_Reduce(&used, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("blocked %d %ld %.6f\n", size - 1, seconds, largest);
}
