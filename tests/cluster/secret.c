/* Rank 0 sends TEXT, a macro, to the last rank many times, in short and in long messages. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { times = 20, long_bytes = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t length = sizeof(TEXT) - 1;
  char* const data = calloc(long_bytes, 1);
  for (int i = 0; i < times; ++i) {
    const int bytes = i % 2 == 0 ? (int)length : long_bytes;
    if (rank == 0) {
      memcpy(data, TEXT, length);
      MPI_Send(data, bytes, MPI_CHAR, size - 1, i, MPI_COMM_WORLD);
    } else if (rank == size - 1) {
      memset(data, 0, long_bytes);
      MPI_Recv(data, bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (memcmp(data, TEXT, length) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  free(data);
  MPI_Finalize();
  return 0;
}
