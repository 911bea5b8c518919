/* Ranks 0 and 1, 2 and 3, and so on, all pairs at once, by size from `bytes` to `bytes_max`:
 *   "pingpong BYTES MICROSECONDS RANK" one way, of each pair;
 *   "stream BYTES MEGABYTES-PER-SECOND RANK" of each pair, a window of messages at a time;
 *   "allreduce BYTES MICROSECONDS 0" of all ranks together.
 * With warm_up=0 the clock sees the first message, and with it what it takes to connect.
 */
#include "patterns.h"

enum { window = 64, warm_up_usual = 40, size_step = 4 };

static long warm_up_of(const Job* job) { return job->warm_up >= 0 ? job->warm_up : warm_up_usual; }

static int first_bytes(const Job* job) { return job->bytes; }

static int last_bytes(const Job* job) {
  return job->bytes_max > job->bytes ? job->bytes_max : job->bytes;
}

static int larger(int bytes) { return bytes == 0 ? 1 : bytes * size_step; }

static double ping_pongs(unsigned char* data, int bytes, int rank, long rounds) {
  const int peer = rank ^ 1, tag = 0;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank < peer) MPI_Send(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > peer) MPI_Send(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - began;
}

void run_pingpong(Job* job) {
  if (job->size % 2 != 0) give_up("pingpong needs an even number of ranks");
  const long rounds = given(job->rounds, 200);
  unsigned char* data = allocate((size_t)last_bytes(job));
  for (int bytes = first_bytes(job); bytes <= last_bytes(job); bytes = larger(bytes)) {
    const int step = next_step(job), low = job->rank & ~1;
    if (job->rank == low) fill(job, data, bytes, low, low + 1, step);
    ping_pongs(data, bytes, job->rank, warm_up_of(job));
    const double seconds = ping_pongs(data, bytes, job->rank, rounds);
    check(job, data, bytes, low, low + 1, step);
    if (job->rank == low)
      printf("pingpong %d %.3f %d\n", bytes, 1e6 * seconds / (double)rounds / 2, job->rank);
  }
  free(data);
}

/* One window from the lower rank of a pair to the other, and its answer. */
static void send_window(unsigned char* data, int bytes, int rank) {
  const int peer = rank ^ 1, tag = 0;
  MPI_Request requests[window];
  for (int i = 0; i < window; ++i) {
    unsigned char* place = data + (size_t)i * (size_t)bytes;
    if (rank < peer)
      MPI_Isend(place, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(place, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  if (rank < peer)
    MPI_Recv(NULL, 0, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
}

/* The warm-up is counted in messages here, too. */
void run_stream(Job* job) {
  if (job->size % 2 != 0) give_up("stream needs an even number of ranks");
  const long windows = given(job->rounds, 10);
  unsigned char* data = allocate((size_t)window * (size_t)last_bytes(job));
  const int low = job->rank & ~1;
  for (int bytes = first_bytes(job); bytes <= last_bytes(job); bytes = larger(bytes)) {
    const int step = next_step(job);
    for (int i = 0; i < window && job->rank == low; ++i)
      fill(job, data + (size_t)i * (size_t)bytes, bytes, low, low + 1, step);
    for (long i = 0; i < warm_up_of(job); i += window) send_window(data, bytes, job->rank);
    const double began = MPI_Wtime();
    for (long i = 0; i < windows; ++i) send_window(data, bytes, job->rank);
    const double seconds = MPI_Wtime() - began;
    for (int i = 0; i < window; ++i)
      check(job, data + (size_t)i * (size_t)bytes, bytes, low, low + 1, step);
    if (job->rank == low)
      printf("stream %d %.3f %d\n", bytes, 1e-6 * (double)windows * window * bytes / seconds,
             job->rank);
  }
  free(data);
}

void run_timed_allreduce(Job* job) {
  const long rounds = given(job->rounds, 100);
  for (int bytes = first_bytes(job); bytes <= last_bytes(job); bytes = larger(bytes)) {
    Job once = *job;
    once.bytes = bytes;
    once.rounds = warm_up_of(job);
    if (once.rounds > 0) run_allreduce(&once);
    once.rounds = rounds;
    const double began = MPI_Wtime();
    run_allreduce(&once);
    const double seconds = MPI_Wtime() - began;
    if (job->rank == 0) printf("allreduce %d %.3f 0\n", bytes, 1e6 * seconds / (double)rounds);
  }
}
