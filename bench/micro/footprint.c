/* "footprint RANKS MEDIAN-BYTES LARGEST-BYTES": proportional set size of a rank that called
 * MPI_Init and MPI_Barrier, read while all ranks are alive. */
#include <string.h>

#include "micro.h"

static double own_bytes(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kib = 0.0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, "Pss:", 4) == 0) kib = strtod(line + 4, NULL);
  if (file != NULL) fclose(file);
  return kib * 1024;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  double mine = own_bytes();

  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* all = allocate((size_t)size * sizeof *all);
  /* Nobody leaves, and so changes what the others share, before the barrier below. */
  MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (world_rank() == 0) {
    const double middle = median(all, size); /* sorts */
    if (all[0] == 0.0)
      fprintf(stderr, "/proc/self/smaps_rollup cannot be read here\n");
    else
      printf("footprint %d %.0f %.0f\n", size, middle, all[size - 1]);
  }
  free(all);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
