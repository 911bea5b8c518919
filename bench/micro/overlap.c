/* A nonblocking message behind a computation that takes as long as the message alone: "overlap
 * BYTES PERCENT ALONE COMPUTING TOGETHER", the part of the message's time that the computation
 * hides (100: all), and the times in us.
 *
 * Without arguments: 8 MiB, and both ranks compute. `sender BYTES`, `receiver BYTES`: that one
 * computes, its time counts, and the other only waits. */
#include "micro.h"

typedef struct {
  char* buffer;
  int bytes, rank;
  bool computes[2]; /* by rank */
} Case;

static volatile double value = 1.0;

/* ROUNDS of arithmetic in registers. It begins with what is read anew each time, or the compiler
 * would do it once for all. */
static void compute(long rounds) {
  double x = value;
  for (long i = 0; i < rounds; ++i) x = x * 0.999999 + 1e-6;
  value = x;
}

/* Seconds of the slowest rank that computes. */
static double transfer(const Case* of, long rounds) {
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (of->rank == 0)
    MPI_Isend(of->buffer, of->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Irecv(of->buffer, of->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  if (of->computes[of->rank]) compute(rounds);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double mine = of->computes[of->rank] ? MPI_Wtime() - began : 0;
  double slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

enum { tries = 101 };

/* The shortest of many: what else runs on the host only ever adds to a time, and a difference of
 * times does not forgive it. */
static double shortest(const double* seconds) {
  double found = seconds[0];
  for (int i = 1; i < tries; ++i) found = seconds[i] < found ? seconds[i] : found;
  return found;
}

static double shortest_transfer(const Case* of, long rounds) {
  double seconds[tries];
  for (int i = 0; i < tries; ++i) seconds[i] = transfer(of, rounds);
  return shortest(seconds);
}

static double shortest_compute(long rounds) {
  double seconds[tries];
  for (int i = 0; i < tries; ++i) {
    const double began = MPI_Wtime();
    compute(rounds);
    seconds[i] = MPI_Wtime() - began;
  }
  return shortest(seconds);
}

static Case read_case(int argc, char** argv) {
  Case of = {NULL, 8 << 20, world_rank(), {true, true}};
  if (argc > 1) {
    of.computes[0] = strcmp(argv[0], "sender") == 0;
    of.computes[1] = strcmp(argv[0], "receiver") == 0;
    of.bytes = atoi(argv[1]);
  }
  if (of.bytes <= 0 || !(of.computes[0] || of.computes[1]))
    give_up("overlap [sender|receiver BYTES]");
  return of;
}

void run_overlap(int argc, char** argv) {
  enum { warm_up = 5 };
  require_ranks(2);
  Case of = read_case(argc, argv);
  const long trial = 100000;
  of.buffer = allocate((size_t)of.bytes);
  for (int i = 0; i < warm_up; ++i) transfer(&of, 0);
  const double alone = shortest_transfer(&of, 0);
  const long rounds = repetitions(alone, shortest_compute(trial) / (double)trial, 1, 1L << 40);
  const double computing = shortest_compute(rounds);
  const double together = shortest_transfer(&of, rounds);
  const double hidden = (alone + computing - together) / alone;
  if (of.rank == 0)
    printf("overlap %d %.1f %.1f %.1f %.1f\n", of.bytes,
           100 * (hidden < 0   ? 0
                  : hidden > 1 ? 1
                               : hidden),
           1e6 * alone, 1e6 * computing, 1e6 * together);
  free(of.buffer);
}
