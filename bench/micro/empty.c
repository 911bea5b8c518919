/* The empty job: what run.py times from start to end. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
