// MPI_THREAD_MULTIPLE: four threads of every rank at once, each on a communicator of its own, all
// on one communicator under different tags, and all receiving from any source.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

constexpr int threads = 4, rounds = 300;

void in_threads(const std::function<void(int)>& body) {
  std::vector<std::jthread> all;
  for (int thread = 0; thread < threads; ++thread) all.emplace_back(body, thread);
}

int bytes_of(int round) { return round % 10 == 0 ? 30000 : round * 3; }

// Exchanges with both neighbours under TAG of COMM.
void exchange(MPI_Comm comm, int tag) {
  const int rank = rank_in(comm), size = size_of(comm), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  for (int round = 0; round < rounds; ++round) {
    const int bytes = bytes_of(round);
    const Bytes out = patterned(rank + tag + round, bytes);
    Bytes in(bytes);
    MPI_Status status;
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, next, tag, in.data(), bytes, MPI_BYTE, previous, tag,
                 comm, &status);
    check_status(status, previous, tag, bytes, "a thread's message");
    check_pattern(in, previous + tag + round, bytes, "a thread's message");
  }
}

// Every thread takes whatever comes from the rank before; together they must get each message once.
void any_source(MPI_Comm comm) {
  const int rank = rank_in(comm), size = size_of(comm), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  std::vector<std::atomic<int>> seen(threads * rounds);
  in_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      const int out = thread * rounds + round;
      int in = -1;
      MPI_Request request;
      MPI_Status status;
      MPI_Isend(&out, 1, MPI_INT, next, thread, comm, &request);
      MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(in >= 0 && in < threads * rounds, "a value that nobody sent");
      check_status(status, previous, in / rounds, sizeof(int), "a message to any thread");
      ++seen[in];
    }
  });
  for (const auto& times : seen) check_equal(times.load(), 1, "how often a message came");
}

void sums(MPI_Comm comm, int thread) {
  const int rank = rank_in(comm), size = size_of(comm);
  for (int round = 0; round < rounds; ++round) {
    const int mine = rank + thread * round;
    int sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    check_equal(sum, size * (size - 1) / 2 + size * thread * round, "a thread's MPI_Allreduce");
  }
}

}  // namespace

int main() {
  const Mpi mpi(MPI_THREAD_MULTIPLE);
  std::vector<MPI_Comm> comms(threads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  in_threads([&](int thread) { exchange(comms[thread], 1); });
  in_threads([&](int thread) { exchange(MPI_COMM_WORLD, thread); });
  in_threads([&](int thread) { sums(comms[thread], thread); });
  any_source(comms[0]);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  passed("threads");
}
