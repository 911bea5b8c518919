/* Every rank says hello to rank 0, which prints in rank order. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, length, other;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  if (rank > 0) {
    MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  } else {
    int i;
    for (i = 1; i < size; ++i) {
      MPI_Recv(&other, 1, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("hello from rank %d of %d on %s\n", other, size, name);
    }
    printf("passed\n");
  }
  return MPI_Finalize();
}
