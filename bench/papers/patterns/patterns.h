/* What the communication patterns share: one program, `patterns PATTERN [NAME=VALUE…] [spoil]`.
 *
 * A pattern says who sends how much to whom, and checks every byte that it gets: what stands in a
 * message follows from its sender, its receiver and its step, so that a lost, doubled or misplaced
 * byte ends the job with a sentence and an exit code. A step is a number that both sides count
 * alike; it is the message's tag as well.
 *
 * Patterns of point-to-point messages use flights: messages that are under way together. Nothing
 * here sends a message that the pattern has not asked for: connections are counted afterwards.
 */
#ifndef HAWSER_BENCH_PAPERS_PATTERNS_H
#define HAWSER_BENCH_PAPERS_PATTERNS_H

#include "../../micro/support.h"

/* One run of a pattern; its options, which are zero where they were not given. */
typedef struct {
  int rank, size;
  long rounds;    /* how often the pattern repeats */
  int bytes;      /* of each message, or of the first size of a sweep */
  int bytes_max;  /* the last size of a sweep */
  int peers;      /* to how many each rank talks, where a pattern leaves that open */
  long warm_up;   /* rounds before the clock is read; negative if it was not given */
  bool reuse;     /* all messages of a stream come from one place, and go to one */
  bool spoil;     /* rank 0 damages a byte of the first message that it makes */
  int step;       /* the number of the next step; see above */
  bool* partners; /* [size]: with whom this rank exchanged a message of the pattern's own */
  double seconds; /* inside the collectives that the pattern is about, where it measures that */
} Job;

typedef struct {
  MPI_Request request;
  unsigned char* data;
  int bytes, peer, step;
  bool receives;
} Part;

enum { flight_parts_max = 256, tag_count = 32768 };

/* Messages under way together. Empty when zeroed, and again when finished. */
typedef struct {
  Part parts[flight_parts_max];
  int count;
} Flight;

/* A message of BYTES to rank TO is on its way when the flight is finished. */
void post_send(Job* job, Flight* flight, int to, int bytes, int step);
/* A message of BYTES from rank FROM, or from whoever sends it: MPI_ANY_SOURCE. */
void post_receive(Job* job, Flight* flight, int from, int bytes, int step);
/* Waits for all messages of FLIGHT and checks those that came. */
void finish(Job* job, Flight* flight);
/* Sends to and receives from PEER, at once; nothing if PEER is this rank. */
void exchange(Job* job, int peer, int bytes, int step);

/* BYTES as in the message of STEP from FROM to TO. */
void fill(Job* job, unsigned char* data, int bytes, int from, int to, int step);
/* Ends the job unless DATA is that. */
void check(const Job* job, const unsigned char* data, int bytes, int from, int to, int step);
/* Ends the job with SENTENCE unless HOLDS. */
void require(const Job* job, bool holds, const char* sentence);

/* The number of the step that begins, the same on all ranks if all of them call it. */
int next_step(Job* job);
/* VALUE, or OTHERWISE if it was not given. */
static inline long given(long value, long otherwise) { return value > 0 ? value : otherwise; }
/* BYTES of the message in ROUND: as the options say, or of a mix from small to large. */
int mixed_bytes(const Job* job, long round);

/* CALL, a collective; its time counts. */
#define TIMED(job, call)                   \
  do {                                     \
    const double began = MPI_Wtime();      \
    (call);                                \
    (job)->seconds += MPI_Wtime() - began; \
  } while (0)

void run_allgather(Job* job);
void run_allreduce(Job* job);
void run_alltoall(Job* job);
void run_barrier(Job* job);
void run_bcast(Job* job);
void run_bt(Job* job);
void run_cg(Job* job);
void run_everyone(Job* job);
void run_ft(Job* job);
void run_is(Job* job);
void run_many_peers(Job* job);
void run_mg(Job* job);
void run_nearest_neighbour(Job* job);
void run_pairwise(Job* job);
void run_pingpong(Job* job);
void run_polled(Job* job);
void run_ring(Job* job);
void run_silent(Job* job);
void run_sp(Job* job);
void run_stream(Job* job);
void run_timed_allreduce(Job* job);

#endif
