/* Ping-pong of 8 bytes while the queues are long: "posted DEPTH MICROSECONDS" one way with DEPTH
 * receives posted before, and "unexpected DEPTH MICROSECONDS" with DEPTH messages arrived before;
 * none of them matches. */
#include "micro.h"

enum { ping_tag = 1 << 20, drain_tag };

static double one_way(long rounds, int rank) {
  char buffer[8] = {0};
  return ping_pong(buffer, (int)sizeof buffer, MPI_BYTE, ping_tag, rounds, rank);
}

static double middle_one_way(int rank) {
  const long trial = 10, rounds_min = 4, rounds_max = 5000;
  one_way(trial, rank);
  const long rounds = repetitions(0.005, 2 * one_way(trial, rank), rounds_min, rounds_max);
  double seconds[batches];
  for (int batch = 0; batch < batches; ++batch) seconds[batch] = one_way(rounds, rank);
  return median(seconds, batches) * 1e6;
}

/* Both ranks do alike, so that both ways are measured under the same load. */
static double behind_posted(int depth, MPI_Request* requests, char* bytes, int rank) {
  const int peer = 1 - rank;
  for (int tag = 0; tag < depth; ++tag)
    MPI_Irecv(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[tag]);
  const double middle = middle_one_way(rank);
  for (int tag = 0; tag < depth; ++tag)
    MPI_Send(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  return middle;
}

static double behind_unexpected(int depth, char* bytes, int rank) {
  const int peer = 1 - rank;
  for (int tag = 0; tag < depth; ++tag)
    MPI_Send(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, drain_tag, NULL, 0, MPI_BYTE, peer, drain_tag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* all of them have arrived */
  const double middle = middle_one_way(rank);
  for (int tag = 0; tag < depth; ++tag)
    MPI_Recv(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return middle;
}

void run_queue(int argc, char** argv) {
  (void)argc;
  (void)argv;
  require_ranks(2);
  const int depth_max = 10000, rank = world_rank();
  MPI_Request* requests = allocate((size_t)depth_max * sizeof *requests);
  char* bytes = allocate((size_t)depth_max);
  for (int depth = 1; depth <= depth_max; depth *= 10) {
    const double posted = behind_posted(depth, requests, bytes, rank);
    const double unexpected = behind_unexpected(depth, bytes, rank);
    if (rank == 0) printf("posted %d %.4f\nunexpected %d %.4f\n", depth, posted, depth, unexpected);
  }
  free(bytes);
  free(requests);
}
