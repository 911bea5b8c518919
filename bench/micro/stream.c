/* One rank sends, the other receives, WINDOW messages at a time:
 * "bandwidth BYTES MEGABYTES-PER-SECOND" for sizes up to 4 MiB, and "rate BYTES
 * MESSAGES-PER-SECOND" for one size. */
#include "micro.h"

enum { window = 64 };

/* Seconds per message; the receiver answers each window, so that the sender sees all of it arrive.
 */
static double per_message(char* buffer, int bytes, long windows, int rank) {
  const int data_tag = 0, answer_tag = 1;
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request requests[window];
  const double began = MPI_Wtime();
  for (long w = 0; w < windows; ++w) {
    for (int i = 0; i < window; ++i) {
      if (rank == 0)
        MPI_Isend(buffer, bytes, MPI_BYTE, 1, data_tag, world, &requests[i]);
      else
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, data_tag, world, &requests[i]);
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(NULL, 0, MPI_BYTE, 1, answer_tag, world, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, 0, answer_tag, world);
  }
  return (MPI_Wtime() - began) / (double)windows / window;
}

static long choose_windows(char* buffer, int bytes, int rank) {
  const double batch_seconds = 0.02;
  const long windows_min = 1, windows_max = 1000;
  per_message(buffer, bytes, 1, rank);
  double seconds = window * per_message(buffer, bytes, 2, rank);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const double windows = batch_seconds / seconds;
  return windows < windows_min ? windows_min : windows > windows_max ? windows_max : (long)windows;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  require_ranks(2);
  const int rank = world_rank(), bytes_max = 4 << 20, rate_bytes = 8;
  char* buffer = allocate((size_t)bytes_max);
  for (int bytes = 1; bytes <= bytes_max; bytes *= 2) {
    const long windows = choose_windows(buffer, bytes, rank);
    double seconds[batches];
    for (int batch = 0; batch < batches; ++batch)
      seconds[batch] = per_message(buffer, bytes, windows, rank);
    const double middle = median(seconds, batches);
    if (rank != 0) continue;
    printf("bandwidth %d %.2f\n", bytes, bytes / middle * 1e-6);
    if (bytes == rate_bytes) printf("rate %d %.0f\n", bytes, 1 / middle);
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
