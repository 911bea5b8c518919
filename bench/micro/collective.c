/* The time of one call in a row of calls, by the slowest rank: "collective NAME [BYTES-MAX]": "NAME
 * BYTES MICROSECONDS", where BYTES is the buffer of a rank, or for allgather, alltoall and
 * reduce_scatter the part of it that is one rank's; "barrier 0 MICROSECONDS". */
#include "line.h"
#include "micro.h"

/* Calls before the first figure: what a library makes for a communicator that is used. */
enum { warm_up = 50 };

typedef struct {
  char *send, *receive;
  int count; /* of MPI_INT */
} Buffers;

static void call_barrier(Buffers b) {
  (void)b;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void call_bcast(Buffers b) { MPI_Bcast(b.send, b.count, MPI_INT, 0, MPI_COMM_WORLD); }
static void call_reduce(Buffers b) {
  MPI_Reduce(b.send, b.receive, b.count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void call_allreduce(Buffers b) {
  MPI_Allreduce(b.send, b.receive, b.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void call_allgather(Buffers b) {
  MPI_Allgather(b.send, b.count, MPI_INT, b.receive, b.count, MPI_INT, MPI_COMM_WORLD);
}
static void call_alltoall(Buffers b) {
  MPI_Alltoall(b.send, b.count, MPI_INT, b.receive, b.count, MPI_INT, MPI_COMM_WORLD);
}
static void call_reduce_scatter(Buffers b) {
  MPI_Reduce_scatter_block(b.send, b.receive, b.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

typedef struct {
  const char* name;
  void (*call)(Buffers b);
  bool sends_to_each, receives_from_each; /* a part for every rank in that buffer */
} Collective;

static const Collective collectives[] = {
    {"bcast", call_bcast, false, false},
    {"reduce", call_reduce, false, false},
    {"allreduce", call_allreduce, false, false},
    {"allgather", call_allgather, false, true},
    {"alltoall", call_alltoall, true, true},
    {"reduce_scatter", call_reduce_scatter, true, false},
};

static double per_call(void (*call)(Buffers), Buffers b, long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (long i = 0; i < calls; ++i) call(b);
  const double mine = (MPI_Wtime() - began) / (double)calls;
  double slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(const char* name, void (*call)(Buffers), Buffers b, Line* line) {
  const long trial = 10, calls_min = 3, calls_max = 20000;
  per_call(call, b, trial);
  const long calls = repetitions(0.02, per_call(call, b, trial), calls_min, calls_max);
  Batches all;
  begin_batches(&all, line);
  for (int batch = 0; batch < batches; ++batch) add_batch(&all, 1e6 * per_call(call, b, calls));
  print_batches(&all, name, b.count * (int)sizeof(int), 3);
}

void run_collective(int argc, char** argv) {
  const Collective* chosen = NULL;
  for (size_t i = 0; argc > 0 && i < sizeof collectives / sizeof collectives[0]; ++i)
    if (strcmp(collectives[i].name, argv[0]) == 0) chosen = &collectives[i];
  if (chosen == NULL)
    give_up("collective takes bcast, reduce, allreduce, allgather, alltoall or reduce_scatter");
  const int wanted = argc > 1 ? atoi(argv[1]) : 0, bytes_max = wanted > 0 ? wanted : 1 << 20;
  const size_t ranks = (size_t)world_size(), bytes = (size_t)bytes_max;
  Buffers b = {allocate(bytes * (chosen->sends_to_each ? ranks : 1)),
               allocate(bytes * (chosen->receives_from_each ? ranks : 1)), 0};
  Line* line = line_if_named(argc, argv);
  b.count = 1;
  per_call(chosen->call, b, warm_up);
  for (int size = (int)sizeof(int); size <= bytes_max; size *= size < 64 ? 2 : 4) {
    b.count = size / (int)sizeof(int);
    measure(chosen->name, chosen->call, b, line);
  }
  free_line(line);
  free(b.receive);
  free(b.send);
}

void run_barrier(int argc, char** argv) {
  Line* line = line_if_named(argc, argv);
  per_call(call_barrier, (Buffers){NULL, NULL, 0}, warm_up);
  measure("barrier", call_barrier, (Buffers){NULL, NULL, 0}, line);
  free_line(line);
}
