/* Packing a vector of doubles: "pack BLOCKS BLOCKLENGTH STRIDE MPI-MICROSECONDS LOOP-MICROSECONDS",
 * by MPI_Pack and by the loop that a program would write. */
#include "micro.h"

typedef struct {
  int blocks, length, stride; /* of doubles */
} Shape;

/* One double at a time, or blocks of them. */
static void pack_by_hand(const double* restrict from, double* restrict to, Shape shape) {
  const size_t blocks = (size_t)shape.blocks, length = (size_t)shape.length;
  const size_t stride = (size_t)shape.stride;
  if (length == 1) {
    for (size_t i = 0; i < blocks; ++i) to[i] = from[i * stride];
  } else {
    for (size_t i = 0; i < blocks; ++i)
      memcpy(to + i * length, from + i * stride, length * sizeof *to);
  }
}

static void measure(Shape shape) {
  const long repeats = 20;
  const size_t packed = (size_t)shape.blocks * (size_t)shape.length;
  double* from = allocate((size_t)shape.blocks * (size_t)shape.stride * sizeof *from);
  double* to = allocate(packed * sizeof *to);
  MPI_Datatype vector;
  MPI_Type_vector(shape.blocks, shape.length, shape.stride, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);

  double by_mpi[batches], by_hand[batches];
  for (int batch = -1; batch < batches; ++batch) { /* the first warms up */
    const double began = MPI_Wtime();
    for (long i = 0; i < repeats; ++i) {
      int position = 0;
      MPI_Pack(from, 1, vector, to, (int)(packed * sizeof *to), &position, MPI_COMM_SELF);
    }
    const double between = MPI_Wtime();
    for (long i = 0; i < repeats; ++i) {
      pack_by_hand(from, to, shape);
      from[0] = to[packed - 1]; /* so that no repetition can be left out */
    }
    const double ended = MPI_Wtime();
    if (batch < 0) continue;
    by_mpi[batch] = (between - began) / (double)repeats;
    by_hand[batch] = (ended - between) / (double)repeats;
  }
  printf("pack %d %d %d %.3f %.3f\n", shape.blocks, shape.length, shape.stride,
         median(by_mpi, batches) * 1e6, median(by_hand, batches) * 1e6);
  MPI_Type_free(&vector);
  free(to);
  free(from);
}

void run_pack(int argc, char** argv) {
  /* In the cache and beyond it; one double at a time, and several. */
  static const Shape shapes[] = {{1024, 1, 2}, {4096, 4, 8}, {262144, 1, 4}, {65536, 8, 16}};
  (void)argc;
  (void)argv;
  require_ranks(1);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) measure(shapes[i]);
}
