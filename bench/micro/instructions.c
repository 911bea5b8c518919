/* What a message of 8 bytes costs in instructions: each of the functions counted_… below does
 * "messages" of one kind, and nothing else; `valgrind --tool=callgrind --toggle-collect=NAME`
 * counts what they execute. Prints "messages NAME MESSAGES" for each of them.
 *
 * Nothing in them waits: what is received has arrived, since the receiver slept meanwhile outside
 * of MPI. */
#include <time.h>

#include "micro.h"

enum { window = 32, rounds = 20, tag = 1 };

typedef struct {
  char data[window][8];
  MPI_Request requests[window];
} Messages;

__attribute__((noinline)) void counted_send(char* data) {
  MPI_Send(data, 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

__attribute__((noinline)) void counted_recv(char* data) {
  MPI_Recv(data, 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) void counted_isends(Messages* all) {
  for (int i = 0; i < window; ++i)
    MPI_Isend(all->data[i], 8, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &all->requests[i]);
  MPI_Waitall(window, all->requests, MPI_STATUSES_IGNORE);
}

__attribute__((noinline)) void counted_irecvs_post(Messages* all) {
  for (int i = 0; i < window; ++i)
    MPI_Irecv(all->data[i], 8, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &all->requests[i]);
}

__attribute__((noinline)) void counted_irecvs_wait(Messages* all) {
  MPI_Waitall(window, all->requests, MPI_STATUSES_IGNORE);
}

static void let_messages_arrive(void) {
  const struct timespec pause = {0, 50000000};
  nanosleep(&pause, NULL);
}

/* Tells rank 0 that rank 1 is there. */
static void meet(int rank) {
  if (rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

void run_instructions(int argc, char** argv) {
  (void)argc;
  (void)argv;
  require_ranks(2);
  const int rank = world_rank(), warm_up = 2000;
  Messages all = {0};
  ping_pong(all.data[0], 8, MPI_BYTE, tag, warm_up, rank); /* channels are earned */
  for (int round = 0; round < rounds; ++round) {
    meet(rank);
    if (rank == 0) {
      counted_send(all.data[0]);
    } else {
      let_messages_arrive();
      counted_recv(all.data[0]);
      counted_irecvs_post(&all);
    }
    meet(rank);
    if (rank == 0) {
      counted_isends(&all);
    } else {
      let_messages_arrive();
      counted_irecvs_wait(&all);
    }
  }
  if (rank == 0)
    printf(
        "messages counted_send %d\nmessages counted_recv %d\nmessages counted_isends %d\n"
        "messages counted_irecvs %d\n",
        rounds, rounds, rounds * window, rounds * window);
}
