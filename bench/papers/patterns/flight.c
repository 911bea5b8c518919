/* Messages whose every byte is known, and that are checked; see patterns.h. */
#include "patterns.h"

/* A byte of a message: all of what names it, mixed so that neighbours differ. */
static unsigned char byte_of(int from, int to, int step, int place) {
  unsigned value = (unsigned)from * 2654435761u ^ (unsigned)to * 2246822519u;
  value ^= (unsigned)step * 3266489917u ^ (unsigned)place * 668265263u;
  return (unsigned char)(value >> 24 ^ value >> 11);
}

void fill(Job* job, unsigned char* data, int bytes, int from, int to, int step) {
  for (int i = 0; i < bytes; ++i) data[i] = byte_of(from, to, step, i);
  if (!job->spoil || job->rank != 0 || bytes == 0) return;
  data[bytes / 2] ^= 1;
  job->spoil = false;
}

void check(const Job* job, const unsigned char* data, int bytes, int from, int to, int step) {
  for (int i = 0; i < bytes; ++i) {
    const unsigned char right = byte_of(from, to, step, i);
    if (data[i] == right) continue;
    fprintf(stderr,
            "patterns: rank %d, step %d: byte %d of %d from rank %d is 0x%02x, not 0x%02x\n",
            job->rank, step, i, bytes, from, data[i], right);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void require(const Job* job, bool holds, const char* sentence) {
  if (holds) return;
  fprintf(stderr, "patterns: rank %d: %s\n", job->rank, sentence);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int next_step(Job* job) { return job->step++; }

int mixed_bytes(const Job* job, long round) {
  static const int mix[] = {64, 1024, 4096, 65536};
  return job->bytes > 0 ? job->bytes : mix[(size_t)round % (sizeof mix / sizeof mix[0])];
}

static Part* new_part(const Job* job, Flight* flight, int peer, int bytes, int step) {
  require(job, flight->count < flight_parts_max, "a flight has no room for another message");
  Part* part = &flight->parts[flight->count++];
  part->data = allocate((size_t)bytes);
  part->bytes = bytes;
  part->peer = peer;
  part->step = step;
  return part;
}

void post_send(Job* job, Flight* flight, int to, int bytes, int step) {
  Part* part = new_part(job, flight, to, bytes, step);
  part->receives = false;
  fill(job, part->data, bytes, job->rank, to, step);
  job->partners[to] = true;
  MPI_Isend(part->data, bytes, MPI_BYTE, to, step % tag_count, MPI_COMM_WORLD, &part->request);
}

void post_receive(Job* job, Flight* flight, int from, int bytes, int step) {
  Part* part = new_part(job, flight, from, bytes, step);
  part->receives = true;
  MPI_Irecv(part->data, bytes, MPI_BYTE, from, step % tag_count, MPI_COMM_WORLD, &part->request);
}

static void finish_receive(Job* job, const Part* part, const MPI_Status* status) {
  int bytes = -1;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  require(job, bytes == part->bytes, "a message has not the length that it should have");
  check(job, part->data, bytes, status->MPI_SOURCE, job->rank, part->step);
  job->partners[status->MPI_SOURCE] = true;
}

void finish(Job* job, Flight* flight) {
  for (int i = 0; i < flight->count; ++i) {
    Part* part = &flight->parts[i];
    MPI_Status status;
    MPI_Wait(&part->request, &status);
    if (part->receives) finish_receive(job, part, &status);
    free(part->data);
  }
  flight->count = 0;
}

void exchange(Job* job, int peer, int bytes, int step) {
  if (peer == job->rank) return;
  Flight flight = {.count = 0};
  post_receive(job, &flight, peer, bytes, step);
  post_send(job, &flight, peer, bytes, step);
  finish(job, &flight);
}
