/* Rank 0 exchanges messages with rank 1, says "waiting", and waits for another one, which rank 1
   sends after so many seconds without MPI as the argument says; then it says "it has come", or the
   error. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  int number = rank;
  MPI_Sendrecv_replace(&number, 1, MPI_INT, other, 1, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) {
    for (unsigned left = (unsigned)atoi(argv[1]); left > 0;) left = sleep(left);
    MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  } else {
    puts("waiting");
    fflush(stdout);
    const int code = MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char sentence[MPI_MAX_ERROR_STRING] = "it has come";
    int length;
    if (code != MPI_SUCCESS) MPI_Error_string(code, sentence, &length);
    puts(sentence);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
