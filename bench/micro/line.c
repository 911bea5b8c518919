#include "line.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "micro.h"

struct Line {
  _Alignas(64) atomic_int ping;
  _Alignas(64) atomic_int pong;
};

/* What the two ranks count alike, each for itself. */
static int turns = 0;

/* Memory without a name: two hosts made of name spaces share no file system for it. */
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
  if (world_rank() == 1) file = open(name, O_RDWR | O_CLOEXEC);
  void* memory =
      file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (memory == MAP_FAILED) {
    fputs("micro: the two ranks cannot share a page of memory\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  close(file);
  return memory;
}

Line* line_if_named(int argc, char** argv) {
  return world_size() == 2 && has_argument(argc, argv, "line") ? make_line() : NULL;
}

void free_line(Line* line) {
  if (line != NULL) munmap(line, 4096);
}

double line_ns(Line* line) {
  const int rounds = 1000, rank = world_rank();
  /* Nobody leaves MPI while the other may need its calls: what was sent may be on its way. */
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    ++turns;
    if (rank == 0) atomic_store_explicit(&line->ping, turns, memory_order_release);
    atomic_int* awaited = rank == 0 ? &line->pong : &line->ping;
    while (atomic_load_explicit(awaited, memory_order_acquire) != turns) {
    }
    if (rank == 1) atomic_store_explicit(&line->pong, turns, memory_order_release);
  }
  return (MPI_Wtime() - began) / rounds / 2 * 1e9;
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
