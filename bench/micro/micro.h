/* What the micro benchmarks share. Results go to standard output, one per line: a name and numbers,
 * separated by blanks; bench/run.py reads them. */
#ifndef HAWSER_BENCH_MICRO_H
#define HAWSER_BENCH_MICRO_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { batches = 11 }; /* the median of so many is a result */

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Sorts VALUES. */
static inline double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline void* allocate(size_t bytes) {
  void* memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "there is no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static inline int world_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/* Ends the job with a sentence if it has not WANTED ranks. */
static inline void require_ranks(int wanted) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == wanted) return;
  if (world_rank() == 0) fprintf(stderr, "this benchmark needs %d ranks, not %d\n", wanted, size);
  MPI_Finalize();
  exit(2);
}

#endif
