/* What the micro benchmarks share. They are one program, `micro BENCHMARK ARGUMENTS…`: each source
 * file holds one benchmark or a few, and main.c lists them. Results go to standard output, one per
 * line: a name and numbers, separated by blanks; bench/run.py and bench/peers.py read them. */
#ifndef HAWSER_BENCH_MICRO_H
#define HAWSER_BENCH_MICRO_H

#include "support.h"

/* The benchmarks, called between MPI_Init and MPI_Finalize. ARGC and ARGV: what follows the name.
 */
void run_barrier(int argc, char** argv);
void run_blocked(int argc, char** argv);
void run_collective(int argc, char** argv);
void run_connections(int argc, char** argv);
void run_empty(int argc, char** argv);
void run_footprint(int argc, char** argv);
void run_instructions(int argc, char** argv);
void run_latency(int argc, char** argv);
void run_matching(int argc, char** argv);
void run_overlap(int argc, char** argv);
void run_pack(int argc, char** argv);
void run_queue(int argc, char** argv);
void run_rate(int argc, char** argv);
void run_raw_tcp(int argc, char** argv);
void run_stream(int argc, char** argv);
void run_strided(int argc, char** argv);
void run_threads(int argc, char** argv);
void run_version(int argc, char** argv);

enum { batches = 11 }; /* the median of so many is a result */

static inline void require_ranks(int wanted) {
  char sentence[80];
  snprintf(sentence, sizeof sentence, "this benchmark needs %d ranks, not %d", wanted,
           world_size());
  if (world_size() != wanted) give_up(sentence);
}

/* The length of message that is measured after BYTES: powers of two, and some that are none, as
 * programs have; what is slow for those alone would else be seen by nobody. */
static inline int next_length(int bytes) {
  const int others[] = {100, 1500, 10000, 40000, 100000, 1000000};
  int next = 1;
  while (next <= bytes) next *= 2;
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (others[i] > bytes && others[i] < next) next = others[i];
  return next;
}

/* So many repetitions of what takes SECONDS that a batch takes about BATCH_SECONDS; the same on all
 * ranks. */
static inline long repetitions(double batch_seconds, double seconds, long least, long most) {
  double slowest;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double wanted = batch_seconds / slowest;
  return wanted < (double)least ? least : wanted > (double)most ? most : (long)wanted;
}

/* Seconds, one way, of ROUNDS ping-pongs of COUNT items of TYPE between ranks 0 and 1. */
static inline double ping_pong(void* buffer, int count, MPI_Datatype type, int tag, long rounds,
                               int rank) {
  const int peer = 1 - rank;
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) MPI_Send(buffer, count, type, peer, tag, MPI_COMM_WORLD);
    MPI_Recv(buffer, count, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, count, type, peer, tag, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

/* Where messages lie: in one place again and again, or (fresh) each in another one, in turn, out of
 * more memory than caches hold. */
typedef struct {
  char* memory;
  size_t bytes, at;
  bool fresh;
} Places;

enum { places_bytes = 128 << 20 };

static inline Places make_places(size_t bytes_max, bool fresh) {
  const size_t bytes = fresh ? (size_t)places_bytes + bytes_max : bytes_max;
  Places places = {(char*)allocate(bytes), bytes, 0, fresh};
  memset(places.memory, 1, bytes > 0 ? bytes : 1); /* pages of its own */
  return places;
}

static inline char* next_place(Places* places, size_t bytes) {
  if (!places->fresh) return places->memory;
  const size_t step = (bytes + 4095) / 4096 * 4096 + 64; /* not always the same set of a cache */
  if (places->at + step + bytes > places->bytes) places->at = 0;
  char* place = places->memory + places->at;
  places->at += step;
  return place;
}

#endif
