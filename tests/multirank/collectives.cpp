// Every collective of an intracommunicator, blocking and nonblocking, against values that
// are computed here: several sizes, in place, zero counts, an operation that does not commute; on
// the world and on its halves.
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "collective_modes.hpp"

namespace {

using namespace multirank;

int value(int rank, int i) { return rank * 1000 + i % 997; }

// The sum of value(r, i) for r < RANKS.
int sum(int ranks, int i) { return 1000 * (ranks * (ranks - 1) / 2) + ranks * (i % 997); }

std::vector<int> values(int rank, int first, int count) {
  std::vector<int> data(count);
  for (int i = 0; i < count; ++i) data[i] = value(rank, first + i);
  return data;
}

struct Case {
  MPI_Comm comm;
  Mode mode;
  int n;  // about the number of elements in the largest buffer
  int rank = rank_in(comm);
  int size = size_of(comm);
  int block = (n + size - 1) / size;  // of one rank
};

void barrier(const Case& c) { run(c.mode, MPI_Barrier, MPI_Ibarrier, c.comm); }

void bcast(const Case& c) {
  for (int root = 0; root < c.size; ++root) {
    std::vector<int> data = values(c.rank == root ? root : 99, 0, c.n);
    run(c.mode, MPI_Bcast, MPI_Ibcast, data.data(), c.n, MPI_INT, root, c.comm);
    check(data == values(root, 0, c.n), "MPI_Bcast");
  }
}

void gather_and_scatter(const Case& c) {
  for (int root : {0, c.size - 1}) {
    const bool is_root = c.rank == root;
    const std::vector<int> mine = values(c.rank, 0, c.block);
    std::vector<int> all(is_root ? c.block * c.size : 0), back(c.block, -1);
    run(c.mode, MPI_Gather, MPI_Igather, mine.data(), c.block, MPI_INT, all.data(), c.block,
        MPI_INT, root, c.comm);
    for (int r = 0; is_root && r < c.size; ++r) {
      for (int i = 0; i < c.block; ++i) {
        check_equal(all[r * c.block + i], value(r, i), "an element of MPI_Gather");
      }
    }
    run(c.mode, MPI_Scatter, MPI_Iscatter, all.data(), c.block, MPI_INT, back.data(), c.block,
        MPI_INT, root, c.comm);
    check(back == mine, "MPI_Scatter");
    const void* const from = is_root ? MPI_IN_PLACE : mine.data();
    void* const to = is_root ? MPI_IN_PLACE : back.data();
    const std::vector<int> before = all;
    run(c.mode, MPI_Gather, MPI_Igather, from, c.block, MPI_INT, all.data(), c.block, MPI_INT, root,
        c.comm);
    check(all == before, "MPI_Gather in place");
    run(c.mode, MPI_Scatter, MPI_Iscatter, all.data(), c.block, MPI_INT, to, c.block, MPI_INT, root,
        c.comm);
    check(all == before && back == mine, "MPI_Scatter in place");
  }
}

// Rank r has r % 3 blocks, with a gap of one element behind each rank's.
struct Ragged {
  std::vector<int> counts, displacements;
  int total = 0;

  explicit Ragged(const Case& c) {
    for (int r = 0; r < c.size; ++r) {
      counts.push_back(r % 3 * c.block);
      displacements.push_back(total);
      total += counts.back() + 1;
    }
  }
  void check_all(const std::vector<int>& all, const char* what) const {
    for (int r = 0; r < static_cast<int>(counts.size()); ++r) {
      for (int i = 0; i < counts[r]; ++i) check_equal(all[displacements[r] + i], value(r, i), what);
      check_equal(all[displacements[r] + counts[r]], -1, what);
    }
  }
};

void ragged(const Case& c) {
  const Ragged layout(c);
  const int mine_count = layout.counts[c.rank], root = c.size / 2;
  const std::vector<int> mine = values(c.rank, 0, mine_count);
  std::vector<int> all(layout.total, -1), back(mine_count, -2);
  run(c.mode, MPI_Gatherv, MPI_Igatherv, mine.data(), mine_count, MPI_INT, all.data(),
      layout.counts.data(), layout.displacements.data(), MPI_INT, root, c.comm);
  if (c.rank == root) layout.check_all(all, "an element of MPI_Gatherv");
  run(c.mode, MPI_Scatterv, MPI_Iscatterv, all.data(), layout.counts.data(),
      layout.displacements.data(), MPI_INT, back.data(), mine_count, MPI_INT, root, c.comm);
  check(back == mine, "MPI_Scatterv");
  all.assign(all.size(), -1);
  run(c.mode, MPI_Allgatherv, MPI_Iallgatherv, mine.data(), mine_count, MPI_INT, all.data(),
      layout.counts.data(), layout.displacements.data(), MPI_INT, c.comm);
  layout.check_all(all, "an element of MPI_Allgatherv");
}

void allgather(const Case& c) {
  const std::vector<int> mine = values(c.rank, 0, c.block);
  std::vector<int> all(c.block * c.size, -1);
  run(c.mode, MPI_Allgather, MPI_Iallgather, mine.data(), c.block, MPI_INT, all.data(), c.block,
      MPI_INT, c.comm);
  std::vector<int> in_place(all.size(), -1);
  std::copy(mine.begin(), mine.end(), in_place.begin() + c.rank * c.block);
  run(c.mode, MPI_Allgather, MPI_Iallgather, MPI_IN_PLACE, 0, MPI_INT, in_place.data(), c.block,
      MPI_INT, c.comm);
  for (int r = 0; r < c.size; ++r) {
    for (int i = 0; i < c.block; ++i) {
      check_equal(all[r * c.block + i], value(r, i), "an element of MPI_Allgather");
    }
  }
  check(in_place == all, "MPI_Allgather in place");
}

// The block from SOURCE to DESTINATION is values(source, 7 * destination, …).
void alltoall(const Case& c) {
  std::vector<int> out, expected, in(c.block * c.size, -1);
  for (int r = 0; r < c.size; ++r) {
    for (int x : values(c.rank, 7 * r, c.block)) out.push_back(x);
    for (int x : values(r, 7 * c.rank, c.block)) expected.push_back(x);
  }
  run(c.mode, MPI_Alltoall, MPI_Ialltoall, out.data(), c.block, MPI_INT, in.data(), c.block,
      MPI_INT, c.comm);
  check(in == expected, "MPI_Alltoall");
  in = out;
  run(c.mode, MPI_Alltoall, MPI_Ialltoall, MPI_IN_PLACE, 0, MPI_INT, in.data(), c.block, MPI_INT,
      c.comm);
  check(in == expected, "MPI_Alltoall in place");

  const std::vector<int> counts(c.size, c.block);
  std::vector<int> displacements(c.size), bytes(c.size);
  for (int r = 0; r < c.size; ++r) {
    displacements[r] = (c.size - 1 - r) * c.block;
    bytes[r] = displacements[r] * static_cast<int>(sizeof(int));
  }
  const std::vector<MPI_Datatype> types(c.size, MPI_INT);
  std::vector<int> reversed_out, reversed_in;
  for (int r = c.size - 1; r >= 0; --r) {
    for (int x : values(c.rank, 7 * r, c.block)) reversed_out.push_back(x);
    for (int x : values(r, 7 * c.rank, c.block)) reversed_in.push_back(x);
  }
  in.assign(in.size(), -1);
  run(c.mode, MPI_Alltoallv, MPI_Ialltoallv, reversed_out.data(), counts.data(),
      displacements.data(), MPI_INT, in.data(), counts.data(), displacements.data(), MPI_INT,
      c.comm);
  check(in == reversed_in, "MPI_Alltoallv");
  in.assign(in.size(), -1);
  run(c.mode, MPI_Alltoallw, MPI_Ialltoallw, reversed_out.data(), counts.data(), bytes.data(),
      types.data(), in.data(), counts.data(), bytes.data(), types.data(), c.comm);
  check(in == reversed_in, "MPI_Alltoallw");
}

void sums(const Case& c) {
  const std::vector<int> mine = values(c.rank, 0, c.n);
  std::vector<int> expected(c.n), result(c.n, -1);
  for (int i = 0; i < c.n; ++i) expected[i] = sum(c.size, i);
  run(c.mode, MPI_Allreduce, MPI_Iallreduce, mine.data(), result.data(), c.n, MPI_INT, MPI_SUM,
      c.comm);
  check(result == expected, "MPI_Allreduce");
  result = mine;
  run(c.mode, MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, result.data(), c.n, MPI_INT, MPI_SUM,
      c.comm);
  check(result == expected, "MPI_Allreduce in place");
  for (int root : {0, c.size - 1}) {
    result.assign(result.size(), -1);
    run(c.mode, MPI_Reduce, MPI_Ireduce, mine.data(), result.data(), c.n, MPI_INT, MPI_SUM, root,
        c.comm);
    check(c.rank != root || result == expected, "MPI_Reduce");
    result = mine;
    const void* const from = c.rank == root ? MPI_IN_PLACE : mine.data();
    run(c.mode, MPI_Reduce, MPI_Ireduce, from, result.data(), c.n, MPI_INT, MPI_SUM, root, c.comm);
    check(result == (c.rank == root ? expected : mine), "MPI_Reduce in place");
  }
  std::vector<int> block(c.block, -1);
  const std::vector<int> whole = values(c.rank, 0, c.block * c.size);
  run(c.mode, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, whole.data(), block.data(),
      c.block, MPI_INT, MPI_SUM, c.comm);
  for (int i = 0; i < c.block; ++i) {
    check_equal(block[i], sum(c.size, c.rank * c.block + i), "MPI_Reduce_scatter_block");
  }
}

// x -> a x + b; to compose two does not commute.
struct Affine {
  std::uint32_t a;
  std::uint32_t b;
  bool operator==(const Affine&) const = default;
};

Affine composed(const Affine& left, const Affine& right) {
  return {left.a * right.a, left.a * right.b + left.b};
}

void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* left = static_cast<const Affine*>(in);
  auto* right = static_cast<Affine*>(inout);
  for (int i = 0; i < *count; ++i) right[i] = composed(left[i], right[i]);
}

std::vector<Affine> functions(int rank, int count) {
  std::vector<Affine> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(
        {static_cast<std::uint32_t>(2 * rank + 3 + i % 5), static_cast<std::uint32_t>(rank + i)});
  }
  return all;
}

// Functions 0 … RANKS - 1 in this order.
std::vector<Affine> prefix(int ranks, int count) {
  std::vector<Affine> all = functions(0, count);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<Affine> next = functions(r, count);
    for (int i = 0; i < count; ++i) all[i] = composed(all[i], next[i]);
  }
  return all;
}

void in_rank_order(const Case& c) {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(2, MPI_UINT32_T, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(compose, 0, &op);
  const std::vector<Affine> mine = functions(c.rank, c.n), all = prefix(c.size, c.n);
  std::vector<Affine> result(c.n);
  run(c.mode, MPI_Allreduce, MPI_Iallreduce, mine.data(), result.data(), c.n, type, op, c.comm);
  check(result == all, "MPI_Allreduce that does not commute");
  for (int root : {0, c.size / 2}) {
    run(c.mode, MPI_Reduce, MPI_Ireduce, mine.data(), result.data(), c.n, type, op, root, c.comm);
    check(c.rank != root || result == all, "MPI_Reduce that does not commute");
  }
  run(c.mode, MPI_Scan, MPI_Iscan, mine.data(), result.data(), c.n, type, op, c.comm);
  check(result == prefix(c.rank + 1, c.n), "MPI_Scan");
  result = mine;
  run(c.mode, MPI_Exscan, MPI_Iexscan, MPI_IN_PLACE, result.data(), c.n, type, op, c.comm);
  check(c.rank == 0 || result == prefix(c.rank, c.n), "MPI_Exscan in place");

  std::vector<int> counts(c.size, 0);
  for (int r = 0, left = c.n; r < c.size; left -= counts[r++]) {
    counts[r] = r == c.size - 1 ? left : left * (r % 3) / 4;
  }
  const int before = std::accumulate(counts.begin(), counts.begin() + c.rank, 0);
  result.assign(counts[c.rank], {});
  run(c.mode, MPI_Reduce_scatter, MPI_Ireduce_scatter, mine.data(), result.data(), counts.data(),
      type, op, c.comm);
  check(std::equal(result.begin(), result.end(), all.begin() + before),
        "MPI_Reduce_scatter that does not commute");
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

// Many at once, completed in another order than they were started.
void overlapping(MPI_Comm comm) {
  constexpr int many = 20;
  const int rank = rank_in(comm), size = size_of(comm);
  std::array<int, many> in, out;
  std::array<MPI_Request, many> requests;
  for (int i = 0; i < many; ++i) {
    in[i] = value(rank, i);
    MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
  }
  for (int i = many - 1; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    check_equal(out[i], sum(size, i), "one of many MPI_Iallreduce");
  }
}

void all_on(MPI_Comm comm) {
  for (const Mode mode : {Mode::blocking, Mode::nonblocking}) {
    for (int n : {0, 1, 7, 1000, 100000}) {
      const Case c{comm, mode, n};
      for (const auto collective :
           {barrier, bcast, gather_and_scatter, ragged, allgather, alltoall, sums, in_rank_order}) {
        collective(c);
      }
    }
  }
  overlapping(comm);
}

}  // namespace

int main() {
  const Mpi mpi;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  all_on(MPI_COMM_WORLD);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, -rank, &half);
  all_on(half);
  MPI_Comm_free(&half);
  passed("collectives");
}
