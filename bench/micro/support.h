/* What every benchmark in plain MPI and C needs, those of bench/papers too: who one is, memory,
 * arguments, a median, and how to give up. */
#ifndef HAWSER_BENCH_SUPPORT_H
#define HAWSER_BENCH_SUPPORT_H

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Sorts VALUES. */
static inline double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return count % 2 != 0 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline int world_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int world_size(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/* Ends the job with a sentence, said by rank 0. */
static inline void give_up(const char* sentence) {
  if (world_rank() == 0) fprintf(stderr, "%s: %s\n", program_invocation_short_name, sentence);
  MPI_Finalize();
  exit(2);
}

static inline void* allocate(size_t bytes) {
  void* memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "%s: there is no memory for %zu bytes\n", program_invocation_short_name, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

/* Whether WORD is among the arguments. */
static inline bool has_argument(int argc, char** argv, const char* word) {
  for (int i = 0; i < argc; ++i)
    if (strcmp(argv[i], word) == 0) return true;
  return false;
}

#endif
