/* Rank 0 exchanges messages with rank 1, says "waiting", and waits for another one, which rank 1
   sends after so many seconds without MPI as the first argument says; then it says "it has come",
   or the error. The second argument says how it waits: receive, or probe; "any" behind it, for a
   message of any rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int await_number(const char* how, int source, int* number) {
  if (strncmp(how, "probe", strlen("probe")) == 0) {
    const int code = MPI_Probe(source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_Recv(number, 1, MPI_INT, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

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
    const char* how = argc > 2 ? argv[2] : "receive";
    const int source = strstr(how, "any") != NULL ? MPI_ANY_SOURCE : 1;
    const int code = await_number(how, source, &number);
    char sentence[MPI_MAX_ERROR_STRING] = "it has come";
    int length;
    if (code != MPI_SUCCESS) MPI_Error_string(code, sentence, &length);
    puts(sentence);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
