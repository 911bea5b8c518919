/* Says hello from every rank; also valid C++. */
#include <mpi.h>
#include <stdio.h>

#ifndef GREETING
#define GREETING "hello"
#endif

int main(int argc, char** argv) {
  int rank = -1;
  int size = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("%s from %d of %d\n", GREETING, rank, size);
  MPI_Finalize();
  return 0;
}
