/* A token goes round the ranks, from each to the next; everyone adds its rank to it.
 *
 *     mpicc ring.c -o ring && mpirun -n 4 ./ring [LAPS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char* rest = NULL;
  const long laps = argc > 1 ? strtol(argv[1], &rest, 10) : 1000;
  if (argc > 2 || laps < 1 || (rest != NULL && *rest != '\0')) {
    if (rank == 0) fprintf(stderr, "ring: the only argument is the number of laps, at least 1\n");
    MPI_Finalize();
    return 2;
  }

  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  const int tag = 0;
  long token = 0;

  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (long lap = 0; lap < laps; ++lap) {
    /* Nonblocking, so that the ring also works with one rank, which sends to itself. */
    MPI_Request sent;
    if (rank == 0) MPI_Isend(&token, 1, MPI_LONG, next, tag, MPI_COMM_WORLD, &sent);
    long arrived;
    MPI_Recv(&arrived, 1, MPI_LONG, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
      MPI_Wait(&sent, MPI_STATUS_IGNORE);
      token = arrived;
    } else {
      token = arrived + rank;
      MPI_Send(&token, 1, MPI_LONG, next, tag, MPI_COMM_WORLD);
    }
  }
  const double seconds = MPI_Wtime() - began;

  int code = 0;
  if (rank == 0) {
    const long expected = laps * ((long)size * (size - 1) / 2);
    printf("%d ranks, %ld laps: the token is %ld, %s\n", size, laps, token,
           token == expected ? "as it should be" : "which is wrong");
    printf("%.3f us from one rank to the next\n", seconds / (double)laps / size * 1e6);
    code = token == expected ? 0 : 1;
  }
  MPI_Finalize();
  return code;
}
