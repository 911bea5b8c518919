#include "line.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "micro.h"

struct Line {
  _Alignas(64) atomic_int ping;
  _Alignas(64) atomic_int pong;
  _Alignas(64) pthread_barrier_t others_sleep; /* of all ranks, if there are more than two */
  int core;                                    /* of rank 0 */
};

/* What ranks 0 and 1 count alike, each for itself. */
static int turns = 0;

static void make_barrier(Line* line) {
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&line->others_sleep, &shared, (unsigned)world_size());
  pthread_barrierattr_destroy(&shared);
}

/* In memory without a name: two hosts made of name spaces share no file system for it. */
static Line* make_line(void) {
  char name[64];
  const size_t bytes = 4096;
  int file = -1;
  if (world_rank() == 0) {
    file = memfd_create("micro-line", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) file = -1;
    snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)getpid(), file);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (world_rank() != 0) file = open(name, O_RDWR | O_CLOEXEC);
  void* memory =
      file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    fputs("micro: the ranks cannot share a page of memory\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (world_rank() == 0) make_barrier(memory);
  MPI_Barrier(MPI_COMM_WORLD);
  close(file);
  return memory;
}

Line* line_if_named(int argc, char** argv) {
  return world_size() > 1 && has_argument(argc, argv, "line") ? make_line() : NULL;
}

void free_line(Line* line) {
  if (line != NULL) munmap(line, 4096);
}

/* What one of ROUNDS takes, in ns, one way; by ranks 0 and 1. */
static double exchange_ns(Line* line, int rounds) {
  const bool begins = world_rank() == 0;
  const double began = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    ++turns;
    if (begins) atomic_store_explicit(&line->ping, turns, memory_order_release);
    atomic_int* awaited = begins ? &line->pong : &line->ping;
    while (atomic_load_explicit(awaited, memory_order_acquire) != turns) {
    }
    if (!begins) atomic_store_explicit(&line->pong, turns, memory_order_release);
  }
  return (MPI_Wtime() - began) / rounds / 2 * 1e9;
}

/* The median of a row of spans: in some of them another process may have had a core. */
static double undisturbed_ns(Line* line) {
  enum { spans = 11, rounds = 100 };
  double times[spans];
  for (int i = 0; i < spans; ++i) times[i] = exchange_ns(line, rounds);
  return median(times, spans);
}

/* Ranks 0 and 1, which may have met on a core, measure on two. */
static double apart_ns(Line* line) {
  cpu_set_t before, own;
  sched_getaffinity(0, sizeof before, &before);
  if (world_rank() == 0) {
    CPU_ZERO(&own);
    CPU_SET((size_t)line->core, &own);
  } else {
    memset(&own, 0xff, sizeof own);
    CPU_CLR((size_t)line->core, &own);
  }
  sched_setaffinity(0, sizeof own, &own);
  const double ns = undisturbed_ns(line);
  sched_setaffinity(0, sizeof before, &before);
  return ns;
}

double line_ns(Line* line) {
  /* Nobody leaves MPI while another may need its calls: what was sent may be on its way. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_size() == 2) return undisturbed_ns(line);
  if (world_rank() == 0) line->core = sched_getcpu();
  pthread_barrier_wait(&line->others_sleep);
  const double ns = world_rank() < 2 ? apart_ns(line) : 0;
  pthread_barrier_wait(&line->others_sleep);
  return ns;
}

void begin_batches(Batches* all, Line* line) {
  all->line = line;
  all->count = 0;
  all->lines[0] = line == NULL ? 0 : line_ns(line);
}

void add_batch(Batches* all, double value) {
  all->values[all->count++] = value;
  if (all->line != NULL) all->lines[all->count] = line_ns(all->line);
}

static bool is_same(double a, double b) { return a < 1.5 * b && b < 1.5 * a; }

void print_batches(const Batches* all, const char* name, int x, int digits) {
  if (world_rank() != 0) return;
  double values[32];
  memcpy(values, all->values, sizeof values);
  if (all->line == NULL) printf("%s %d %.*f\n", name, x, digits, median(values, all->count));
  for (int i = 0; all->line != NULL && i < all->count; ++i)
    if (is_same(all->lines[i], all->lines[i + 1]))
      printf("%s %d %.*f %.1f\n", name, x, digits, all->values[i],
             (all->lines[i] + all->lines[i + 1]) / 2);
}
