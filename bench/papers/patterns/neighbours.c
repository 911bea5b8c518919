/* Patterns of point-to-point messages: from nobody over neighbours to everybody. */
#include "patterns.h"

void run_silent(Job* job) { (void)job; }

/* To the next rank, from the one before. */
void run_ring(Job* job) {
  const int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
  for (long round = 0; round < given(job->rounds, 20); ++round) {
    const int bytes = (int)given(job->bytes, 1024), step = next_step(job);
    Flight flight = {.count = 0};
    post_receive(job, &flight, left, bytes, step);
    post_send(job, &flight, right, bytes, step);
    finish(job, &flight);
  }
}

/* Ranks 0 and 1, 2 and 3, and so on. */
void run_pairwise(Job* job) {
  for (long round = 0; round < given(job->rounds, 20); ++round) {
    const int step = next_step(job), peer = job->rank ^ 1;
    if (peer < job->size) exchange(job, peer, (int)given(job->bytes, 1024), step);
  }
}

/* Every two ranks meet: in turn k those whose numbers differ by k in the bits. */
void run_everyone(Job* job) {
  int turns = 1;
  while (turns < job->size) turns *= 2;
  for (int turn = 1; turn < turns; ++turn)
    for (long round = 0; round < given(job->rounds, 20); ++round) {
      const int step = next_step(job), peer = job->rank ^ turn;
      if (peer < job->size) exchange(job, peer, mixed_bytes(job, round), step);
    }
}

/* The four neighbours on a torus of two dimensions. */
void run_nearest_neighbour(Job* job) {
  int sides[2] = {0, 0};
  MPI_Dims_create(job->size, 2, sides);
  const int row = job->rank / sides[1], column = job->rank % sides[1];
  const int neighbours[4] = {
      (row + 1) % sides[0] * sides[1] + column,
      (row + sides[0] - 1) % sides[0] * sides[1] + column,
      row * sides[1] + (column + 1) % sides[1],
      row * sides[1] + (column + sides[1] - 1) % sides[1],
  };
  for (long round = 0; round < given(job->rounds, 60); ++round) {
    const int bytes = mixed_bytes(job, round), first = job->step;
    job->step += 4;
    Flight flight = {.count = 0};
    /* What comes from one side was sent to the other one. */
    for (int side = 0; side < 4; ++side)
      if (neighbours[side] != job->rank)
        post_receive(job, &flight, neighbours[side], bytes, first + (side ^ 1));
    for (int side = 0; side < 4; ++side)
      if (neighbours[side] != job->rank)
        post_send(job, &flight, neighbours[side], bytes, first + side);
    finish(job, &flight);
  }
}

/* As particles among many cells: `peers` neighbours around a ring of ranks, the nearer the more
 * often, mostly with short messages; every eighth is of 16 KiB. */
void run_many_peers(Job* job) {
  const int reach_max = (job->size - 1) / 2, wanted = (int)given(job->peers, 24) / 2;
  const int reach = wanted < reach_max ? wanted : reach_max;
  for (long round = 0; round < given(job->rounds, 60); ++round) {
    const int first = job->step, bytes = (int)given(job->bytes, round % 8 == 7 ? 16384 : 512);
    job->step += 2 * reach + 2;
    Flight flight = {.count = 0};
    for (int distance = 1; distance <= reach; ++distance) {
      if (round % ((distance + 3) / 4) != 0) continue;
      const int right = (job->rank + distance) % job->size;
      const int left = (job->rank + job->size - distance) % job->size;
      post_receive(job, &flight, left, bytes, first + 2 * distance);
      post_receive(job, &flight, right, bytes, first + 2 * distance + 1);
      post_send(job, &flight, right, bytes, first + 2 * distance);
      post_send(job, &flight, left, bytes, first + 2 * distance + 1);
    }
    finish(job, &flight);
  }
}
