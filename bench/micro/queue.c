/* Ping-pong of 8 bytes while the queues are long: "posted DEPTH MICROSECONDS" one way with DEPTH
 * receives posted before, and "unexpected DEPTH MICROSECONDS" with DEPTH messages arrived before;
 * none of them matches. */
#include "line.h"
#include "micro.h"

enum { ping_tag = 1 << 20, drain_tag };

static double one_way(long rounds, int rank) {
  char buffer[8] = {0};
  return ping_pong(buffer, (int)sizeof buffer, MPI_BYTE, ping_tag, rounds, rank);
}

static void measure(const char* name, int depth, Line* line, int rank) {
  const long trial = 10, rounds_min = 4, rounds_max = 5000;
  one_way(trial, rank);
  const long rounds = repetitions(0.005, 2 * one_way(trial, rank), rounds_min, rounds_max);
  Batches all;
  begin_batches(&all, line);
  for (int batch = 0; batch < batches; ++batch) add_batch(&all, 1e6 * one_way(rounds, rank));
  print_batches(&all, name, depth, 4);
}

/* Both ranks do alike, so that both ways are measured under the same load. */
static void behind_posted(int depth, MPI_Request* requests, char* bytes, Line* line, int rank) {
  const int peer = 1 - rank;
  for (int tag = 0; tag < depth; ++tag)
    MPI_Irecv(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[tag]);
  measure("posted", depth, line, rank);
  for (int tag = 0; tag < depth; ++tag)
    MPI_Send(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
}

static void behind_unexpected(int depth, char* bytes, Line* line, int rank) {
  const int peer = 1 - rank;
  for (int tag = 0; tag < depth; ++tag)
    MPI_Send(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  MPI_Sendrecv(NULL, 0, MPI_BYTE, peer, drain_tag, NULL, 0, MPI_BYTE, peer, drain_tag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* all of them have arrived */
  measure("unexpected", depth, line, rank);
  for (int tag = 0; tag < depth; ++tag)
    MPI_Recv(&bytes[tag], 1, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void run_queue(int argc, char** argv) {
  require_ranks(2);
  const int depth_max = 10000, rank = world_rank();
  MPI_Request* requests = allocate((size_t)depth_max * sizeof *requests);
  char* bytes = allocate((size_t)depth_max);
  Line* line = line_if_named(argc, argv);
  for (int depth = 1; depth <= depth_max; depth *= 10) {
    behind_posted(depth, requests, bytes, line, rank);
    behind_unexpected(depth, bytes, line, rank);
  }
  free_line(line);
  free(bytes);
  free(requests);
}
