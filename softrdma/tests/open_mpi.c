/* What Open MPI is to do over softrdma: sums, and long messages around a ring, checked. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 1 << 20, rounds = 20 };

int main(int argc, char** argv) {
  static char out[bytes];
  static char in[bytes];
  int rank = 0;
  int size = 0;
  int sum = 0;
  int wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong += sum != size * (size + 1) / 2;
  const int left = (rank + size - 1) % size;
  for (int i = 0; i < rounds; ++i) {
    memset(out, rank + i, bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, i, in, bytes, MPI_CHAR, left, i,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += in[0] != (char)(left + i) || memcmp(in, in + 1, bytes - 1) != 0;
  }
  printf("rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return wrong;
}
