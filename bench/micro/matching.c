/* Matching at the depth of the queues: "posted DEPTH NANOSECONDS" and "unexpected DEPTH
 * NANOSECONDS" per message, where DEPTH receives are posted, or DEPTH messages are there, and all
 * are matched in reverse order. */
#include "micro.h"

enum { ready_tag = 1 << 24, end_tag };

static const int token = 0;

/* Receives are posted, then messages come in reverse order. Seconds from the word that the sender
 * may begin to the last match, on rank 1. */
static double posted(int depth, MPI_Request* requests, int* values, int rank) {
  const MPI_Comm world = MPI_COMM_WORLD;
  double seconds = 0.0;
  if (rank == 0) {
    MPI_Recv(values, 1, MPI_INT, 1, ready_tag, world, MPI_STATUS_IGNORE);
    for (int tag = depth - 1; tag >= 0; --tag) MPI_Send(&token, 1, MPI_INT, 1, tag, world);
  } else {
    for (int tag = 0; tag < depth; ++tag)
      MPI_Irecv(&values[tag], 1, MPI_INT, 0, tag, world, &requests[tag]);
    const double began = MPI_Wtime();
    MPI_Send(&token, 1, MPI_INT, 0, ready_tag, world);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* the last to come */
    seconds = MPI_Wtime() - began;
    MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  }
  return seconds;
}

/* Messages are there, then receives are made in reverse order. */
static double unexpected(int depth, int rank) {
  const MPI_Comm world = MPI_COMM_WORLD;
  double seconds = 0.0;
  int value = 0;
  if (rank == 0) {
    for (int tag = 0; tag < depth; ++tag) MPI_Send(&token, 1, MPI_INT, 1, tag, world);
    MPI_Send(&token, 1, MPI_INT, 1, end_tag, world);
    MPI_Recv(&value, 1, MPI_INT, 1, ready_tag, world, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, end_tag, world, MPI_STATUS_IGNORE); /* the others came before */
    const double began = MPI_Wtime();
    for (int tag = depth - 1; tag >= 0; --tag)
      MPI_Recv(&value, 1, MPI_INT, 0, tag, world, MPI_STATUS_IGNORE);
    seconds = MPI_Wtime() - began;
    MPI_Send(&token, 1, MPI_INT, 0, ready_tag, world);
  }
  return seconds;
}

void run_matching(int argc, char** argv) {
  int depths[8] = {100, 10000, 100000};
  int depth_count = argc > 0 && argc <= 8 ? argc : 3;
  for (int i = 0; i < argc && i < depth_count; ++i) depths[i] = atoi(argv[i]);
  const int depth_max = 100000, messages_per_batch = 100000;
  require_ranks(2);
  for (int i = 0; i < depth_count; ++i)
    if (depths[i] < 1 || depths[i] > depth_max) give_up("a depth lies between 1 and 100000");
  const int rank = world_rank();
  const double batch_seconds = 0.05;
  MPI_Request* requests = allocate((size_t)depth_max * sizeof *requests);
  int* values = allocate((size_t)depth_max * sizeof *values);

  for (int d = 0; d < depth_count; ++d) {
    const int depth = depths[d];
    double posted_seconds[batches], unexpected_seconds[batches];
    posted(depth, requests, values, rank); /* pools and tables grow */
    unexpected(depth, rank);
    const double began = MPI_Wtime();
    posted(depth, requests, values, rank);
    unexpected(depth, rank);
    const long repeats =
        repetitions(batch_seconds, MPI_Wtime() - began, 1, messages_per_batch / depth);
    for (int batch = 0; batch < batches; ++batch) {
      posted_seconds[batch] = unexpected_seconds[batch] = 0.0;
      for (long i = 0; i < repeats; ++i) {
        posted_seconds[batch] += posted(depth, requests, values, rank);
        unexpected_seconds[batch] += unexpected(depth, rank);
      }
    }
    if (rank == 1) {
      const double nanoseconds = 1e9 / (double)repeats / depth;
      printf("posted %d %.2f\n", depth, median(posted_seconds, batches) * nanoseconds);
      printf("unexpected %d %.2f\n", depth, median(unexpected_seconds, batches) * nanoseconds);
    }
  }
  free(values);
  free(requests);
}
