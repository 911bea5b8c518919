/* How many connections between hosts a pattern of communication takes:
 * "connections RANKS CONNECTIONS". Those that were there before, as a launcher's, do not count. */
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "micro.h"

typedef struct {
  struct sockaddr_storage address;
  socklen_t bytes;
} End;

/* Its address without the port. */
static const void* host_of(const End* end, size_t* bytes) {
  if (end->address.ss_family == AF_INET) {
    *bytes = sizeof(struct in_addr);
    return &((const struct sockaddr_in*)&end->address)->sin_addr;
  }
  *bytes = sizeof(struct in6_addr);
  return &((const struct sockaddr_in6*)&end->address)->sin6_addr;
}

/* DESCRIPTOR is a socket whose ends have different addresses. */
static bool leads_to_another_host(int descriptor) {
  End own = {.bytes = sizeof own.address}, peer = {.bytes = sizeof peer.address};
  if (getsockname(descriptor, (struct sockaddr*)&own.address, &own.bytes) != 0) return false;
  if (getpeername(descriptor, (struct sockaddr*)&peer.address, &peer.bytes) != 0) return false;
  if (own.address.ss_family != AF_INET && own.address.ss_family != AF_INET6) return false;
  size_t bytes;
  const void *own_host = host_of(&own, &bytes), *peer_host = host_of(&peer, &bytes);
  return memcmp(own_host, peer_host, bytes) != 0;
}

static long connections_now(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  const int most = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
  long count = 0;
  for (int descriptor = 0; descriptor < most; ++descriptor)
    count += leads_to_another_host(descriptor);
  return count;
}

static void ring(int rank, int ranks) {
  int sent = rank, received;
  MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % ranks, 0, &received, 1, MPI_INT,
               (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* With everybody in turn, whatever algorithms a library has. */
static void everybody(int rank, int ranks) {
  for (int step = 1; step < ranks; ++step) {
    int sent = rank, received;
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + step) % ranks, 0, &received, 1, MPI_INT,
                 (rank + ranks - step) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void run_connections(int argc, char** argv) {
  const int rank = world_rank(), ranks = world_size(), rounds = 3;
  const unsigned quiet_seconds = 2; /* until all are done: nobody accepts any more */
  const char* pattern = argc > 0 ? argv[0] : "";
  const bool is_ring = strcmp(pattern, "ring") == 0, is_barrier = strcmp(pattern, "barrier") == 0;
  if (!is_ring && !is_barrier && strcmp(pattern, "everybody") != 0)
    give_up("connections takes a pattern: ring, barrier or everybody");
  const long before = connections_now();
  for (int round = 0; round < rounds; ++round) {
    if (is_ring)
      ring(rank, ranks);
    else if (is_barrier)
      MPI_Barrier(MPI_COMM_WORLD);
    else
      everybody(rank, ranks);
  }
  sleep(quiet_seconds);
  long ends = connections_now() - before, all_ends = 0;
  MPI_Reduce(&ends, &all_ends, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("connections %d %ld\n", ranks, all_ends / 2);
}
