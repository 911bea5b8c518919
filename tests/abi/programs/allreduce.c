/* Reductions: predefined, by a user's function, by MPI_MINLOC, and with a large count. */
#include <mpi.h>
#include <stdio.h>

static void add(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  int i;
  (void)datatype;
  for (i = 0; i < *length; ++i) ((long*)inout)[i] += ((long*)in)[i];
}

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  long mine, sum = 0;
  double value, most = 0;
  struct {
    double value;
    int index;
  } pair, least;
  MPI_Op op;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = rank + 1;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, op, MPI_COMM_WORLD);
  wrong += sum != (long)size * (size + 1) / 2;
  value = 0.5 * rank;
  MPI_Allreduce_c(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  wrong += most != 0.5 * (size - 1);
  pair.value = -rank;
  pair.index = rank;
  MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  wrong += least.index != size - 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  if (rank == 0) printf(wrong == 0 ? "passed\n" : "%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
