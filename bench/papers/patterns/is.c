/* The communication of the NAS kernel IS, by a small integer sort of its own: keys are counted in
 * buckets, all counts summed, buckets dealt out to the ranks, and the keys sent to where they
 * belong. Class S: 65536 keys below 2048. What every rank ends up with is checked to be sorted
 * between the ranks, and complete.
 */
#include "patterns.h"

enum { keys_total = 1 << 16, key_end = 1 << 11, buckets = 1 << 9, rounds_usual = 3 };

typedef struct {
  int count;
  int* keys;
} Keys;

static Keys make_keys(const Job* job, long round) {
  const int first = (int)((long)keys_total * job->rank / job->size);
  const int end = (int)((long)keys_total * (job->rank + 1) / job->size);
  Keys made = {end - first, allocate((size_t)(end - first) * sizeof(int))};
  for (int i = 0; i < made.count; ++i) {
    const unsigned mixed = ((unsigned)(first + i) + (unsigned)round * keys_total) * 2654435761u;
    made.keys[i] = (int)(mixed >> 16) % key_end;
  }
  return made;
}

static int bucket_of(int key) { return key / (key_end / buckets); }

/* owners[b]: the rank that gets bucket b, so that all get about as many keys. */
static void deal_out(const Job* job, const int* totals, int* owners) {
  long before = 0;
  for (int b = 0; b < buckets; ++b) {
    owners[b] = (int)(before * job->size / keys_total);
    before += totals[b];
  }
}

/* Keys in the order of their owners; counts[r]: how many are rank r's. */
static int* arranged(const Job* job, Keys mine, const int* owners, int* counts) {
  int* places = allocate((size_t)job->size * sizeof(int));
  int* sorted = allocate((size_t)mine.count * sizeof(int));
  for (int i = 0; i < mine.count; ++i) ++counts[owners[bucket_of(mine.keys[i])]];
  for (int r = 1; r < job->size; ++r) places[r] = places[r - 1] + counts[r - 1];
  for (int i = 0; i < mine.count; ++i)
    sorted[places[owners[bucket_of(mine.keys[i])]]++] = mine.keys[i];
  free(places);
  return sorted;
}

/* Every rank gets its keys. COUNTS: how many of SORTED go to each. */
static Keys send_keys(Job* job, const int* sorted, const int* counts) {
  const size_t ranks = (size_t)job->size;
  int *coming = allocate(ranks * sizeof(int)), *out_at = allocate(ranks * sizeof(int)),
      *in_at = allocate(ranks * sizeof(int));
  TIMED(job, MPI_Alltoall(counts, 1, MPI_INT, coming, 1, MPI_INT, MPI_COMM_WORLD));
  for (int r = 1; r < job->size; ++r) {
    out_at[r] = out_at[r - 1] + counts[r - 1];
    in_at[r] = in_at[r - 1] + coming[r - 1];
  }
  Keys got = {in_at[job->size - 1] + coming[job->size - 1], NULL};
  got.keys = allocate((size_t)got.count * sizeof(int));
  TIMED(job, MPI_Alltoallv(sorted, counts, out_at, MPI_INT, got.keys, coming, in_at, MPI_INT,
                           MPI_COMM_WORLD));
  free(in_at);
  free(out_at);
  free(coming);
  return got;
}

/* Every key is of a bucket of this rank, and all keys together are as many, and have the sum, that
 * were made. */
static void check_keys(const Job* job, Keys got, Keys made, const int* owners) {
  long change[2] = {made.count - got.count, 0}, total[2] = {1, 1};
  for (int i = 0; i < got.count; ++i) {
    require(job, got.keys[i] >= 0 && got.keys[i] < key_end, "there is a key that nobody made");
    require(job, owners[bucket_of(got.keys[i])] == job->rank, "a key is another rank's");
    change[1] -= got.keys[i];
  }
  for (int i = 0; i < made.count; ++i) change[1] += made.keys[i];
  MPI_Allreduce(change, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  require(job, total[0] == 0 && total[1] == 0, "keys were lost or changed");
}

static void sort_once(Job* job, long round) {
  int mine[buckets] = {0}, totals[buckets], owners[buckets];
  const Keys made = make_keys(job, round);
  for (int i = 0; i < made.count; ++i) ++mine[bucket_of(made.keys[i])];
  TIMED(job, MPI_Allreduce(mine, totals, buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  deal_out(job, totals, owners);
  int* counts = allocate((size_t)job->size * sizeof(int));
  int* sorted = arranged(job, made, owners, counts);
  if (job->spoil && job->rank == 0) sorted[0] = key_end;
  const Keys got = send_keys(job, sorted, counts);
  check_keys(job, got, made, owners);
  free(got.keys);
  free(sorted);
  free(counts);
  free(made.keys);
}

void run_is(Job* job) {
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) sort_once(job, round);
}
