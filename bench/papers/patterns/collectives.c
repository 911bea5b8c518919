/* One collective again and again, its result checked. */
#include "patterns.h"

enum { rounds_usual = 20, bytes_usual = 1024 };

static const int everybody = -1; /* the receiver of what all ranks get alike */

void run_barrier(Job* job) {
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round)
    MPI_Barrier(MPI_COMM_WORLD);
}

void run_bcast(Job* job) {
  const int bytes = (int)given(job->bytes, bytes_usual), root = 0;
  unsigned char* data = allocate((size_t)bytes);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    const int step = next_step(job);
    memset(data, 0, (size_t)bytes);
    if (job->rank == root) fill(job, data, bytes, root, everybody, step);
    MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    check(job, data, bytes, root, everybody, step);
  }
  free(data);
}

void run_allreduce(Job* job) {
  const int count = (int)given(job->bytes, bytes_usual) / (int)sizeof(long);
  long* mine = allocate((size_t)count * sizeof *mine);
  long* sums = allocate((size_t)count * sizeof *sums);
  const long ranks = job->size, sum_of_ranks = ranks * (ranks - 1) / 2;
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    for (int i = 0; i < count; ++i) mine[i] = job->rank * (round + 1) + i;
    if (job->spoil && job->rank == 0) ++mine[0];
    MPI_Allreduce(mine, sums, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i)
      require(job, sums[i] == sum_of_ranks * (round + 1) + ranks * i, "a sum is wrong");
  }
  free(sums);
  free(mine);
}

void run_allgather(Job* job) {
  const int bytes = (int)given(job->bytes, bytes_usual);
  unsigned char* mine = allocate((size_t)bytes);
  unsigned char* all = allocate((size_t)bytes * (size_t)job->size);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    const int step = next_step(job);
    fill(job, mine, bytes, job->rank, everybody, step);
    MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < job->size; ++from)
      check(job, all + (size_t)from * (size_t)bytes, bytes, from, everybody, step);
  }
  free(all);
  free(mine);
}

void run_alltoall(Job* job) {
  const int bytes = (int)given(job->bytes, bytes_usual);
  const size_t size = (size_t)job->size * (size_t)bytes;
  unsigned char *out = allocate(size), *in = allocate(size);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    const int step = next_step(job);
    for (int to = 0; to < job->size; ++to)
      fill(job, out + (size_t)to * (size_t)bytes, bytes, job->rank, to, step);
    TIMED(job, MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < job->size; ++from)
      check(job, in + (size_t)from * (size_t)bytes, bytes, from, job->rank, step);
  }
  free(in);
  free(out);
}
