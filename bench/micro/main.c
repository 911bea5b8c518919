/* micro BENCHMARK ARGUMENTS…: one of the benchmarks, on whatever MPI library the program runs with.
 */
#include "micro.h"

typedef struct {
  const char* name;
  const char* arguments;
  void (*run)(int argc, char** argv);
  int threads; /* the level that it needs */
} Benchmark;

static const Benchmark benchmarks[] = {
    {"barrier", "[line]", run_barrier, MPI_THREAD_SINGLE},
    {"blocked", "[SECONDS]", run_blocked, MPI_THREAD_SINGLE},
    {"collective", "NAME [BYTES-MAX] [line]", run_collective, MPI_THREAD_SINGLE},
    {"connections", "ring|barrier|everybody", run_connections, MPI_THREAD_SINGLE},
    {"empty", "", run_empty, MPI_THREAD_SINGLE},
    {"footprint", "[silent|pairwise|all]", run_footprint, MPI_THREAD_SINGLE},
    {"instructions", "", run_instructions, MPI_THREAD_SINGLE},
    {"latency", "[fresh] [line]", run_latency, MPI_THREAD_SINGLE},
    {"matching", "[DEPTH…]", run_matching, MPI_THREAD_SINGLE},
    {"overlap", "[sender|receiver BYTES]", run_overlap, MPI_THREAD_SINGLE},
    {"pack", "", run_pack, MPI_THREAD_SINGLE},
    {"queue", "[line]", run_queue, MPI_THREAD_SINGLE},
    {"rate", "[line]", run_rate, MPI_THREAD_SINGLE},
    {"raw_tcp", "[latency|stream] [line] [ADDRESS]", run_raw_tcp, MPI_THREAD_SINGLE},
    {"stream", "[fresh] [both] [line]", run_stream, MPI_THREAD_SINGLE},
    {"strided", "[line]", run_strided, MPI_THREAD_SINGLE},
    {"threads", "[line]", run_threads, MPI_THREAD_MULTIPLE},
    {"version", "", run_version, MPI_THREAD_SINGLE},
};

static const Benchmark* find(const char* name) {
  for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; ++i)
    if (strcmp(benchmarks[i].name, name) == 0) return &benchmarks[i];
  return NULL;
}

static int usage(void) {
  fputs("usage: micro BENCHMARK ARGUMENTS…\n", stderr);
  for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; ++i)
    fprintf(stderr, "  %s %s\n", benchmarks[i].name, benchmarks[i].arguments);
  return 2;
}

int main(int argc, char** argv) {
  const Benchmark* benchmark = argc > 1 ? find(argv[1]) : NULL;
  if (benchmark == NULL) return usage();
  int granted = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, benchmark->threads, &granted);
  if (granted < benchmark->threads) give_up("this MPI library does not grant the threads it takes");
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what was measured is known, however the job ends */
  benchmark->run(argc - 2, argv + 2);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
