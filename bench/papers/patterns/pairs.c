/* Ranks 0 and 1, 2 and 3, and so on, all pairs at once, by size from `bytes` to `bytes_max`:
 *   "pingpong BYTES MICROSECONDS RANK" one way, of each pair;
 *   "stream BYTES MEGABYTES-PER-SECOND RANK" of each pair, a window of messages at a time;
 *   "allreduce BYTES MICROSECONDS 0" of all ranks together.
 * Each is the median of some batches; but with warm_up=0 there is one batch, and the clock sees the
 * first message, and with it what it takes to connect.
 *
 * `polled` is a ping-pong of ranks 0 and 1 after all others have talked to rank 0 as long as the
 * warm-up lasts: those sleep then, and rank 0 has as many channels to look at as it has peers.
 */
#include "patterns.h"

enum { window = 64, warm_up_usual = 40, size_step = 4, batches = 5 };

static long warm_up_of(const Job* job) { return job->warm_up >= 0 ? job->warm_up : warm_up_usual; }

static int batches_of(const Job* job) { return warm_up_of(job) == 0 ? 1 : batches; }

static int first_bytes(const Job* job) { return job->bytes; }

static int last_bytes(const Job* job) {
  return job->bytes_max > job->bytes ? job->bytes_max : job->bytes;
}

static int larger(int bytes) { return bytes == 0 ? 1 : bytes * size_step; }

/* Seconds of ROUNDS between the ranks LOW and LOW + 1. */
static double ping_pongs(unsigned char* data, int bytes, const Job* job, int low, long rounds) {
  const int peer = job->rank == low ? low + 1 : low, tag = 0;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (job->rank == low) MPI_Send(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    MPI_Recv(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (job->rank != low) MPI_Send(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - began;
}

/* The line of one size, printed by rank LOW. */
static void measure_ping_pong(Job* job, unsigned char* data, int bytes, int low) {
  const int step = next_step(job);
  const long rounds = given(job->rounds, 200);
  double seconds[batches];
  if (job->rank == low) fill(job, data, bytes, low, low + 1, step);
  ping_pongs(data, bytes, job, low, warm_up_of(job));
  for (int batch = 0; batch < batches_of(job); ++batch)
    seconds[batch] = ping_pongs(data, bytes, job, low, rounds);
  check(job, data, bytes, low, low + 1, step);
  if (job->rank == low)
    printf("pingpong %d %.3f %d\n", bytes,
           1e6 * median(seconds, batches_of(job)) / (double)rounds / 2, low);
}

void run_pingpong(Job* job) {
  if (job->size % 2 != 0) give_up("pingpong needs an even number of ranks");
  unsigned char* data = allocate((size_t)last_bytes(job));
  for (int bytes = first_bytes(job); bytes <= last_bytes(job); bytes = larger(bytes))
    measure_ping_pong(job, data, bytes, job->rank & ~1);
  free(data);
}

void run_polled(Job* job) {
  if (job->size < 2) give_up("polled needs two ranks");
  const int tag = 1, bytes = job->bytes;
  unsigned char* data = allocate((size_t)bytes);
  for (int peer = 2; peer < job->size; ++peer)
    for (long i = 0; i < warm_up_of(job); ++i) {
      if (job->rank == 0 || job->rank == peer)
        exchange(job, job->rank == 0 ? peer : 0, bytes, 2 + peer);
    }
  if (job->rank < 2) measure_ping_pong(job, data, bytes, 0);
  if (job->rank > 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int peer = 2; peer < job->size && job->rank == 0; ++peer)
    MPI_Send(NULL, 0, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  free(data);
}

/* Of message NUMBER of a window. */
static unsigned char* place_of(unsigned char* data, const Job* job, int number, int bytes) {
  return job->reuse ? data : data + (size_t)number * (size_t)bytes;
}

/* One window from the lower rank of a pair to the other, and its answer. */
static void send_window(unsigned char* data, int bytes, const Job* job) {
  const int rank = job->rank, peer = rank ^ 1, tag = 0;
  MPI_Request requests[window];
  for (int i = 0; i < window; ++i) {
    unsigned char* place = place_of(data, job, i, bytes);
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
      fill(job, place_of(data, job, i, bytes), bytes, low, low + 1, step);
    for (long i = 0; i < warm_up_of(job); i += window) send_window(data, bytes, job);
    double seconds[batches];
    for (int batch = 0; batch < batches_of(job); ++batch) {
      const double began = MPI_Wtime();
      for (long i = 0; i < windows; ++i) send_window(data, bytes, job);
      seconds[batch] = MPI_Wtime() - began;
    }
    for (int i = 0; i < window; ++i)
      check(job, place_of(data, job, i, bytes), bytes, low, low + 1, step);
    if (job->rank == low)
      printf("stream %d %.3f %d\n", bytes,
             1e-6 * (double)windows * window * bytes / median(seconds, batches_of(job)), low);
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
    double seconds[batches];
    for (int batch = 0; batch < batches_of(job); ++batch) {
      const double began = MPI_Wtime();
      run_allreduce(&once);
      seconds[batch] = MPI_Wtime() - began;
    }
    if (job->rank == 0)
      printf("allreduce %d %.3f 0\n", bytes,
             1e6 * median(seconds, batches_of(job)) / (double)rounds);
  }
}
