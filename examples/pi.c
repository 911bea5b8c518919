/* Pi as the area under 4 / (1 + x^2) from 0 to 1, by the midpoint rule: every rank adds up its
 * share of the intervals, one reduction adds up the ranks.
 *
 *     mpicc pi.c -o pi -O2 -lm && mpirun -n 4 ./pi [INTERVALS]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const double pi_exact = 3.14159265358979323846;

/* The part of every STEP-th interval of COUNT, beginning with FIRST. */
static double add_up(long long first, long long step, long long count) {
  const double width = 1.0 / (double)count;
  double sum = 0.0;
  for (long long i = first; i < count; i += step) {
    const double x = ((double)i + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  return sum * width;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char* rest = NULL;
  const long long intervals = argc > 1 ? strtoll(argv[1], &rest, 10) : 100000000;
  if (argc > 2 || intervals < 1 || (rest != NULL && *rest != '\0')) {
    if (rank == 0)
      fprintf(stderr, "pi: the only argument is the number of intervals, at least 1\n");
    MPI_Finalize();
    return 2;
  }

  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  const double part = add_up(rank, size, intervals);
  double pi = 0.0;
  MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - began;

  if (rank == 0) {
    printf("%d ranks, %lld intervals\n", size, intervals);
    printf("pi    = %.16f\n", pi);
    printf("error = %.3e\n", fabs(pi - pi_exact));
    printf("time  = %.3f s\n", seconds);
  }
  MPI_Finalize();
  return 0;
}
