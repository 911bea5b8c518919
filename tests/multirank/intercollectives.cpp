// Collectives of an intercommunicator between the lower and the upper part of the world: the result
// at one side comes from the other. With one rank there is no other side, and nothing to check.
#include <vector>

#include "collective_modes.hpp"

namespace {

using namespace multirank;

struct Case {
  MPI_Comm comm;
  Mode mode;
  int n;
  bool lower;  // this side; the root of rooted collectives is rank 0 of the lower one
  int rank = rank_in(comm);
  int local_size = size_of(comm);
  int remote_size = 0;

  // The argument `root` of a rank.
  [[nodiscard]] int root() const { return !lower ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL; }
  [[nodiscard]] bool is_root() const { return lower && rank == 0; }
};

int value(bool lower, int rank, int i) { return (lower ? 1 : 50) * (rank + 1) * 1000 + i % 991; }

std::vector<int> values(bool lower, int rank, int count) {
  std::vector<int> data(count);
  for (int i = 0; i < count; ++i) data[i] = value(lower, rank, i);
  return data;
}

// What the ranks 0 … SIZE - 1 of one side have, one after the other.
std::vector<int> concatenated(bool lower, int size, int count) {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) {
    const std::vector<int> one = values(lower, r, count);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<int> summed(bool lower, int size, int count) {
  std::vector<int> sum(count, 0);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < count; ++i) sum[i] += value(lower, r, i);
  }
  return sum;
}

void rooted(const Case& c) {
  std::vector<int> data = c.is_root() ? values(true, 0, c.n) : std::vector<int>(c.n, -1);
  run(c.mode, MPI_Bcast, MPI_Ibcast, data.data(), c.n, MPI_INT, c.root(), c.comm);
  if (!c.lower) check(data == values(true, 0, c.n), "MPI_Bcast to the other group");

  const std::vector<int> mine = values(c.lower, c.rank, c.n);
  std::vector<int> all(c.n * c.remote_size, -1), back(c.n, -1), sum(c.n, -1);
  run(c.mode, MPI_Gather, MPI_Igather, mine.data(), c.n, MPI_INT, all.data(), c.n, MPI_INT,
      c.root(), c.comm);
  if (c.is_root()) {
    check(all == concatenated(false, c.remote_size, c.n), "MPI_Gather from the other group");
  }
  run(c.mode, MPI_Scatter, MPI_Iscatter, all.data(), c.n, MPI_INT, back.data(), c.n, MPI_INT,
      c.root(), c.comm);
  if (!c.lower) check(back == mine, "MPI_Scatter to the other group");
  run(c.mode, MPI_Reduce, MPI_Ireduce, mine.data(), sum.data(), c.n, MPI_INT, MPI_SUM, c.root(),
      c.comm);
  if (c.is_root()) {
    check(sum == summed(false, c.remote_size, c.n), "MPI_Reduce from the other group");
  }
}

void everyone(const Case& c) {
  const std::vector<int> mine = values(c.lower, c.rank, c.n);
  std::vector<int> all(c.n * c.remote_size, -1), sum(c.n, -1);
  run(c.mode, MPI_Barrier, MPI_Ibarrier, c.comm);
  run(c.mode, MPI_Allgather, MPI_Iallgather, mine.data(), c.n, MPI_INT, all.data(), c.n, MPI_INT,
      c.comm);
  check(all == concatenated(!c.lower, c.remote_size, c.n), "MPI_Allgather between groups");
  run(c.mode, MPI_Allreduce, MPI_Iallreduce, mine.data(), sum.data(), c.n, MPI_INT, MPI_SUM,
      c.comm);
  check(sum == summed(!c.lower, c.remote_size, c.n), "MPI_Allreduce between groups");

  // Everyone sends the same block to everyone.
  std::vector<int> out;
  for (int r = 0; r < c.remote_size; ++r) out.insert(out.end(), mine.begin(), mine.end());
  all.assign(all.size(), -1);
  run(c.mode, MPI_Alltoall, MPI_Ialltoall, out.data(), c.n, MPI_INT, all.data(), c.n, MPI_INT,
      c.comm);
  check(all == concatenated(!c.lower, c.remote_size, c.n), "MPI_Alltoall between groups");

  // Both groups contribute vectors of one length, which each divides among its own ranks.
  const int total = c.n * c.local_size * c.remote_size, block = c.n * c.remote_size;
  const std::vector<int> whole = values(c.lower, c.rank, total),
                         theirs = summed(!c.lower, c.remote_size, total);
  std::vector<int> part(block, -1);
  run(c.mode, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, whole.data(), part.data(), block,
      MPI_INT, MPI_SUM, c.comm);
  for (int i = 0; i < block; ++i) {
    check_equal(part[i], theirs[c.rank * block + i], "MPI_Reduce_scatter_block between groups");
  }
}

// Counts and displacements of blocks that lie one after the other: rank r of a side has N + r
// items.
struct Blocks {
  Blocks(int size, int n) {
    for (int r = 0; r < size; ++r) {
      counts.push_back(n + r);
      offsets.push_back(total);
      byte_offsets.push_back(total * static_cast<int>(sizeof(int)));
      total += n + r;
    }
  }
  std::vector<int> counts, offsets, byte_offsets;
  int total = 0;
};

std::vector<int> concatenated(bool lower, const Blocks& blocks) {
  std::vector<int> all;
  for (std::size_t r = 0; r < blocks.counts.size(); ++r) {
    const std::vector<int> one = values(lower, static_cast<int>(r), blocks.counts[r]);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void varying_rooted(const Case& c, const Blocks& theirs) {
  const int count = c.n + c.rank;
  const std::vector<int> mine = values(c.lower, c.rank, count);
  std::vector<int> all(theirs.total, -1), back(count, -1);
  run(c.mode, MPI_Gatherv, MPI_Igatherv, mine.data(), count, MPI_INT, all.data(),
      theirs.counts.data(), theirs.offsets.data(), MPI_INT, c.root(), c.comm);
  if (c.is_root()) check(all == concatenated(false, theirs), "MPI_Gatherv from the other group");
  run(c.mode, MPI_Scatterv, MPI_Iscatterv, all.data(), theirs.counts.data(), theirs.offsets.data(),
      MPI_INT, back.data(), count, MPI_INT, c.root(), c.comm);
  if (!c.lower) check(back == mine, "MPI_Scatterv to the other group");
}

void varying_everyone(const Case& c, const Blocks& theirs) {
  const int count = c.n + c.rank;
  const std::vector<int> mine = values(c.lower, c.rank, count),
                         expected = concatenated(!c.lower, theirs);
  std::vector<int> all(theirs.total, -1);
  run(c.mode, MPI_Allgatherv, MPI_Iallgatherv, mine.data(), count, MPI_INT, all.data(),
      theirs.counts.data(), theirs.offsets.data(), MPI_INT, c.comm);
  check(all == expected, "MPI_Allgatherv between groups");

  // All get the same block from one rank.
  const std::vector<int> counts(c.remote_size, count), zeros(c.remote_size, 0);
  const std::vector<MPI_Datatype> types(c.remote_size, MPI_INT);
  all.assign(all.size(), -1);
  run(c.mode, MPI_Alltoallv, MPI_Ialltoallv, mine.data(), counts.data(), zeros.data(), MPI_INT,
      all.data(), theirs.counts.data(), theirs.offsets.data(), MPI_INT, c.comm);
  check(all == expected, "MPI_Alltoallv between groups");
  all.assign(all.size(), -1);
  run(c.mode, MPI_Alltoallw, MPI_Ialltoallw, mine.data(), counts.data(), zeros.data(), types.data(),
      all.data(), theirs.counts.data(), theirs.byte_offsets.data(), types.data(), c.comm);
  check(all == expected, "MPI_Alltoallw between groups");
}

// Each group divides one vector among its own ranks, unevenly: the last takes what is left.
void reduce_scatter(const Case& c) {
  const int total = c.n * c.local_size * c.remote_size;
  std::vector<int> counts(c.local_size, total / (2 * c.local_size));
  counts.back() = total - (c.local_size - 1) * counts.front();
  const std::vector<int> whole = values(c.lower, c.rank, total),
                         theirs = summed(!c.lower, c.remote_size, total);
  const int first = c.rank * counts.front(), count = counts[c.rank];
  std::vector<int> part(count, -1);
  run(c.mode, MPI_Reduce_scatter, MPI_Ireduce_scatter, whole.data(), part.data(), counts.data(),
      MPI_INT, MPI_SUM, c.comm);
  for (int i = 0; i < count; ++i)
    check_equal(part[i], theirs[first + i], "MPI_Reduce_scatter between groups");
}

}  // namespace

int main() {
  const Mpi mpi;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), split = (size + 2) / 3;
  if (size > 1) {
    const bool lower = rank < split;
    MPI_Comm local, inter;
    MPI_Comm_split(MPI_COMM_WORLD, lower, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, lower ? split : 0, 5, &inter);
    for (const Mode mode : {Mode::blocking, Mode::nonblocking}) {
      for (int n : {0, 1, 7, 1000, 20000}) {
        Case c{inter, mode, n, lower};
        MPI_Comm_remote_size(inter, &c.remote_size);
        rooted(c);
        everyone(c);
        const Blocks theirs(c.remote_size, n);
        varying_rooted(c, theirs);
        varying_everyone(c, theirs);
        reduce_scatter(c);
      }
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
  }
  passed("intercollectives");
}
