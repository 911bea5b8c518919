/* "footprint RANKS MEDIAN-BYTES LARGEST-BYTES": proportional set size of a rank that called
 * MPI_Init and MPI_Barrier, and then sent 100 messages of 1 KiB to no one (silent), to its
 * neighbour (pairwise) or to everyone (all); read while all ranks are alive. */
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

static void exchange(int peer, int messages) {
  char out[1024] = {0}, in[1024];
  for (int i = 0; i < messages; ++i)
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, peer, 0, in, sizeof in, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Every two ranks meet once: in round k those whose numbers differ by k in the bits. */
static void talk(bool to_all, int rank, int size) {
  const int messages = 100;
  int rounds = 2;
  while (to_all && rounds < size) rounds *= 2;
  for (int k = 1; k < rounds; ++k)
    if ((rank ^ k) < size) exchange(rank ^ k, messages);
}

void run_footprint(int argc, char** argv) {
  const int rank = world_rank(), size = world_size();
  MPI_Barrier(MPI_COMM_WORLD);
  if (has_argument(argc, argv, "pairwise")) talk(false, rank, size);
  if (has_argument(argc, argv, "all")) talk(true, rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  double mine = own_bytes();

  double* all = allocate((size_t)size * sizeof *all);
  /* Nobody leaves, and so changes what the others share, before the barrier below. */
  MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const double middle = median(all, size); /* sorts */
    if (all[0] == 0.0)
      fprintf(stderr, "/proc/self/smaps_rollup cannot be read here\n");
    else
      printf("footprint %d %.0f %.0f\n", size, middle, all[size - 1]);
  }
  free(all);
  MPI_Barrier(MPI_COMM_WORLD);
}
