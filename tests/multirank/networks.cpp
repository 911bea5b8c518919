// Long messages that two networks share out: `networks both`, or `networks first` where the second
// one is of no use. With p2p.stripe_networks and transport=verbs,shm; two ranks or more, all on one
// host.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

constexpr int rounds = 4, attempts_max = 50;
/// Just long enough, of no pages, and so long that it is copied in several chunks.
constexpr std::array<int, 3> sizes = {262'144, 700'001, 5'000'003};

/// Each rank to the next one, and back; received into memory that a byte behind it guards.
void exchange(int bytes, int seed) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  for (const int step : {1, ranks - 1}) {
    const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
    const Bytes out = patterned(seed + rank, bytes);
    Bytes in(static_cast<std::size_t>(bytes) + 1, 0x5a);
    MPI_Status status;
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, step, in.data(), bytes + 1, MPI_BYTE, from, step,
                 MPI_COMM_WORLD, &status);
    check_status(status, from, step, bytes, "a message");
    check_pattern(in, seed + from, bytes, "a message");
    check_equal(in.back(), 0x5a, "the byte behind it");
  }
}

/// Several at a time, of which some are unexpected when they come.
void exchange_many(int seed) {
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of(MPI_COMM_WORLD);
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  std::vector<Bytes> out, in;
  std::vector<MPI_Request> requests(2 * sizes.size());
  for (const int size : sizes) {
    out.push_back(patterned(seed + rank + size, size));
    in.emplace_back(static_cast<std::size_t>(size));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    MPI_Isend(out[i].data(), sizes[i], MPI_BYTE, to, static_cast<int>(i), MPI_COMM_WORLD,
              &requests[i]);
  for (std::size_t i = sizes.size(); i-- > 0;)
    MPI_Irecv(in[i].data(), sizes[i], MPI_BYTE, from, static_cast<int>(i), MPI_COMM_WORLD,
              &requests[sizes.size() + i]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    check_pattern(in[i], seed + from + sizes[i], sizes[i], "one of several");
}

/// What does not fit is cut off, and goes by one network.
void truncate(int seed) {
  const int rank = rank_in(MPI_COMM_WORLD), peer = rank ^ 1, bytes = sizes[1];
  if (peer >= size_of(MPI_COMM_WORLD)) return;
  const Bytes out = patterned(seed, bytes);
  Bytes in(static_cast<std::size_t>(bytes), 0x5a);
  MPI_Request request;
  MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int error =
      MPI_Recv(in.data(), bytes - 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  check_class(error, MPI_ERR_TRUNCATE, "receiving a message that is too long");
  check_pattern(in, seed, bytes - 1, "what fits of it");
  check_equal(in.back(), 0x5a, "the byte behind it");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Payload that came by either.
struct Received {
  std::uint64_t by_rdma;
  std::uint64_t copied;
};

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  if (argc != 2 || size_of(MPI_COMM_WORLD) < 2) return 2;
  const bool wants_both = std::string(argv[1]) == "both";
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  {
    Counter rdma("channel.rc_rdma.bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    Counter copy("channel.single_copy.bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    rdma.start();
    copy.start();
    const auto received = [&] { return Received{rdma.read(), copy.read()}; };
    // Connections are earned, and the other network is connected when it could have been used.
    for (int attempt = 0, is_ready = 0; is_ready == 0; ++attempt) {
      check(attempt < attempts_max, "long messages come by all networks that there are");
      const Received before = received();
      exchange(sizes.back(), attempt);
      const Received now = received();
      is_ready = now.by_rdma > before.by_rdma && (!wants_both || now.copied > before.copied);
      MPI_Allreduce(MPI_IN_PLACE, &is_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    for (int round = 0; round < rounds; ++round) {
      for (const int size : sizes) exchange(size, round);
      exchange_many(round);
      truncate(round);
    }
    const Received all = received();
    // Of blocks the one that is slower here gets few, but those that it was offered first.
    const auto least = static_cast<std::uint64_t>(sizes.front());
    check(all.by_rdma >= least, "the first network has its share");
    if (wants_both) {
      check(all.copied >= least, "the other one, too");
    } else {
      check_equal(all.copied, 0, "what was copied where that is not allowed");
    }
  }
  MPI_T_finalize();
}
