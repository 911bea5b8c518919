/* Messages of 8 bytes from each rank of the first half to one of the second, a window at a time:
 * "pairs PAIRS MESSAGES-PER-SECOND", over all pairs. */
#include "line.h"
#include "micro.h"

enum { window = 64 };

static double seconds_for(long windows, int rank, int pairs) {
  const int data_tag = 0, answer_tag = 1, bytes = 8;
  const bool sends = rank < pairs;
  const int peer = sends ? rank + pairs : rank - pairs;
  char buffers[window][8] = {{0}};
  MPI_Request requests[window];
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (long w = 0; w < windows; ++w) {
    for (int i = 0; i < window; ++i) {
      if (sends)
        MPI_Isend(buffers[i], bytes, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(buffers[i], bytes, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (sends)
      MPI_Recv(NULL, 0, MPI_BYTE, peer, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, peer, answer_tag, MPI_COMM_WORLD);
  }
  const double mine = MPI_Wtime() - began;
  double slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void run_rate(int argc, char** argv) {
  const int rank = world_rank(), pairs = world_size() / 2;
  if (world_size() % 2 != 0) give_up("this benchmark needs an even number of ranks");
  const long windows_min = 2, windows_max = 5000;
  seconds_for(10, rank, pairs);
  const long windows =
      repetitions(0.05, seconds_for(10, rank, pairs) / 10, windows_min, windows_max);
  Line* line = line_if_named(argc, argv);
  Batches all;
  begin_batches(&all, line);
  for (int batch = 0; batch < batches; ++batch)
    add_batch(&all, (double)windows * window * pairs / seconds_for(windows, rank, pairs));
  print_batches(&all, "pairs", pairs, 0);
  free_line(line);
}
