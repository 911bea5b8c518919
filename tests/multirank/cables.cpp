// Messages of random sizes, many of them long, between pairs of ranks for as long as a file exists:
// `cables FILE`. For whoever takes the network apart meanwhile.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

constexpr int messages_per_round = 12;

int random_bytes(std::mt19937_64& random) {
  constexpr std::uint64_t short_max = 2000, middle_max = 100'000, long_max = 2'000'000;
  const std::uint64_t most[] = {short_max, middle_max, long_max};
  return static_cast<int>(random() % most[random() % std::size(most)]);
}

/// All to the peer and as many from it, in the order of their one tag.
void round_of(std::uint64_t number, int peer) {
  std::mt19937_64 random(number);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<Bytes> in, out;
  std::vector<MPI_Request> requests;
  for (int i = 0; i < messages_per_round; ++i) {
    const int bytes = random_bytes(random);
    const int seed = static_cast<int>(number % 1000) * messages_per_round + i;
    in.emplace_back(static_cast<std::size_t>(bytes));
    out.push_back(patterned(seed + rank, bytes));
    MPI_Irecv(in.back().data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Isend(out.back().data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < messages_per_round; ++i) {
    const int seed = static_cast<int>(number % 1000) * messages_per_round + i;
    check_pattern(in[static_cast<std::size_t>(i)], seed + peer,
                  static_cast<int>(in[static_cast<std::size_t>(i)].size()), "a message");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  const int size = size_of(MPI_COMM_WORLD);
  if (argc != 2 || size % 2 != 0) return 2;
  const int peer = (rank_in(MPI_COMM_WORLD) + size / 2) % size;
  for (std::uint64_t number = 0, more = 1; more != 0; ++number) {
    round_of(number, peer);
    more = access(argv[1], F_OK) == 0 ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  }
  passed("cables");
}
