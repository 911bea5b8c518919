/* The communication of the NAS kernel FT where each rank has planes of the grid: all data changes
 * places once before the iterations and once in each, and a checksum, a complex number, is summed.
 * Class S: 64 x 64 x 64 complex numbers, 6 iterations. `bytes`: what a rank sends to each other
 * instead.
 */
#include "patterns.h"

enum { rounds_usual = 6, grid_bytes = 64 * 64 * 64 * 2 * (int)sizeof(double) };

static int block_bytes(const Job* job) {
  return (int)given(job->bytes, grid_bytes / job->size / job->size);
}

static void transpose(Job* job, unsigned char* out, unsigned char* in) {
  const int bytes = block_bytes(job), step = next_step(job);
  for (int to = 0; to < job->size; ++to)
    fill(job, out + (size_t)to * (size_t)bytes, bytes, job->rank, to, step);
  TIMED(job, MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD));
  for (int from = 0; from < job->size; ++from)
    check(job, in + (size_t)from * (size_t)bytes, bytes, from, job->rank, step);
}

static void sum_up(Job* job, long round) {
  const double mine[2] = {job->rank, (double)round};
  double sums[2] = {0, 0};
  TIMED(job, MPI_Reduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
  if (job->rank != 0) return;
  const int ranks = job->size;
  require(job, sums[0] == ranks * (ranks - 1) / 2 && sums[1] == (double)round * ranks,
          "a sum is wrong");
}

void run_ft(Job* job) {
  const size_t size = (size_t)job->size * (size_t)block_bytes(job);
  unsigned char *out = allocate(size), *in = allocate(size);
  transpose(job, out, in);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    transpose(job, out, in);
    sum_up(job, round);
  }
  free(in);
  free(out);
}
