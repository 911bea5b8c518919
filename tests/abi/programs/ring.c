/* A token travels round the ring; every rank adds its number. Checks what the status says. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, count, token = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    MPI_Isend(&token, 1, MPI_INT, 1 % size, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    if (token != size * (size - 1) / 2 || count != 1 || status.MPI_TAG != 3 ||
        status.MPI_SOURCE != size - 1 || request != MPI_REQUEST_NULL) {
      printf("token %d, count %d, tag %d, source %d\n", token, count, status.MPI_TAG,
             status.MPI_SOURCE);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    printf("passed\n");
  } else {
    MPI_Recv(&token, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
