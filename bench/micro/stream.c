/* One rank sends, the other receives (or both do both), WINDOW messages at a time:
 * "bandwidth BYTES MEGABYTES-PER-SECOND" for sizes up to 4 MiB. With `both`: "bidirectional BYTES
 * MEGABYTES-PER-SECOND", the sum of both directions. */
#include "line.h"
#include "micro.h"

enum { window = 64 };

/* A window of messages in one direction; the receiver answers it, so that the sender sees all of it
 * arrive. */
static void one_direction(Places* places, int bytes, int rank) {
  const int data_tag = 0, answer_tag = 1;
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request requests[window];
  for (int i = 0; i < window; ++i) {
    char* place = next_place(places, (size_t)bytes);
    if (rank == 0)
      MPI_Isend(place, bytes, MPI_BYTE, 1, data_tag, world, &requests[i]);
    else
      MPI_Irecv(place, bytes, MPI_BYTE, 0, data_tag, world, &requests[i]);
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  if (rank == 0)
    MPI_Recv(NULL, 0, MPI_BYTE, 1, answer_tag, world, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, 0, answer_tag, world);
}

static void both_directions(Places* from, Places* to, int bytes, int rank) {
  const int tag = 0, peer = 1 - rank;
  MPI_Request requests[2 * window];
  for (int i = 0; i < window; ++i)
    MPI_Irecv(next_place(to, (size_t)bytes), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
              &requests[i]);
  for (int i = 0; i < window; ++i)
    MPI_Isend(next_place(from, (size_t)bytes), bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
              &requests[window + i]);
  MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
}

/* Seconds per message of a direction. */
static double per_message(Places* from, Places* to, int bytes, long windows, int rank, bool both) {
  const double began = MPI_Wtime();
  for (long w = 0; w < windows; ++w) {
    if (both)
      both_directions(from, to, bytes, rank);
    else
      one_direction(from, bytes, rank);
  }
  return (MPI_Wtime() - began) / (double)windows / window;
}

void run_stream(int argc, char** argv) {
  require_ranks(2);
  const int rank = world_rank(), bytes_max = 4 << 20;
  const long windows_min = 1, windows_max = 1000;
  const double batch_seconds = 0.02;
  const bool both = has_argument(argc, argv, "both"), fresh = has_argument(argc, argv, "fresh");
  Line* line = line_if_named(argc, argv);
  Places from = make_places((size_t)bytes_max, fresh), to = make_places((size_t)bytes_max, fresh);
  for (int bytes = 1; bytes <= bytes_max; bytes = next_length(bytes)) {
    per_message(&from, &to, bytes, 1, rank, both);
    const double once = window * per_message(&from, &to, bytes, 2, rank, both);
    const long windows = repetitions(batch_seconds, once, windows_min, windows_max);
    Batches all;
    begin_batches(&all, line);
    for (int batch = 0; batch < batches; ++batch)
      add_batch(&all,
                (both ? 2e-6 : 1e-6) * bytes / per_message(&from, &to, bytes, windows, rank, both));
    print_batches(&all, both ? "bidirectional" : "bandwidth", bytes, 2);
  }
  free_line(line);
  free(to.memory);
  free(from.memory);
}
