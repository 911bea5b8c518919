// Messages that nobody wants yet: `unexpected [COUNT]`. Each even rank sends COUNT small messages
// and then 2,000 of 4 KiB, more than a sender may leave at a receiver, to the rank after it, which
// asks for the last one first.
#include <cstdlib>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

constexpr int later = 1, wanted = 2;

void send_all(int peer, int count, int bytes) {
  const auto messages = static_cast<std::size_t>(count), each = static_cast<std::size_t>(bytes);
  std::vector<MPI_Request> requests(messages + 1);
  Bytes out(messages * each);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = pattern(static_cast<int>(i / each), i % each);
  for (int i = 0; i < count; ++i) {
    MPI_Isend(out.data() + i * each, bytes, MPI_BYTE, peer, later, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Isend(&count, 1, MPI_INT, peer, wanted, MPI_COMM_WORLD, &requests[messages]);
  MPI_Waitall(count + 1, requests.data(), MPI_STATUSES_IGNORE);
}

void receive_all(int peer, int count, int bytes) {
  int last = -1;
  MPI_Recv(&last, 1, MPI_INT, peer, wanted, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_equal(last, count, "the message that was wanted first");
  Bytes in(static_cast<std::size_t>(bytes));
  for (int i = 0; i < count; ++i) {
    MPI_Status status;
    MPI_Recv(in.data(), bytes, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : peer, later, MPI_COMM_WORLD,
             &status);
    check_status(status, peer, later, bytes, "an unexpected message");
    check_pattern(in, i, bytes, "an unexpected message");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  const int small = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const int rank = rank_in(MPI_COMM_WORLD), partner = rank ^ 1;
  if (partner < size_of(MPI_COMM_WORLD)) {
    for (const auto& [count, bytes] : {std::pair{small, 8}, std::pair{2000, 4096}}) {
      rank < partner ? send_all(partner, count, bytes) : receive_all(partner, count, bytes);
    }
  }
  passed("unexpected");
}
