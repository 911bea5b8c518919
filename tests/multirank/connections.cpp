// Connections of TCP: how many each way to start makes, and what becomes of idle ones:
// `connections ring|all|idle|few|few_descriptors`.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

struct Counts {
  Counter now{"transport.connections", MPI_T_PVAR_CLASS_LEVEL};
  Counter opened{"transport.connections_opened", MPI_T_PVAR_CLASS_COUNTER};
  Counter rested{"transport.connections_rested", MPI_T_PVAR_CLASS_COUNTER};

  Counts() {
    opened.start();
    rested.start();
  }
};

/// A message to the rank STEP behind this one and one from before it, checked.
void shift(int step, int bytes) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const int to = (rank + step) % size, from = (rank + size - step) % size;
  const Bytes out = patterned(rank, bytes);
  Bytes in(static_cast<std::size_t>(bytes));
  MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, step, in.data(), bytes, MPI_BYTE, from, step,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_pattern(in, from, bytes, "a message");
}

void exchange_with_all(int bytes) {
  for (int step = 1; step < size_of(MPI_COMM_WORLD); ++step) shift(step, bytes);
}

/// Lets the library work for SECONDS, without a message.
void idle(double seconds) {
  const double until = MPI_Wtime() + seconds;
  int flag = 0;
  while (MPI_Wtime() < until)
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/// On demand: who talks to two has two. Looked at when what this rank has sent has had its effect
/// all the way round, and while nobody can have left the ring, who talks to others then: a rank is
/// ahead of another by no more messages than it is ranks behind it.
void ring(Counts& counts) {
  const int size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) shift(1, 3000);
  check_equal(counts.now.read(), std::min(size - 1, 2), "connections of a ring");
  for (int i = 0; i < size; ++i) shift(1, 3000);
}

/// Static: before the first message.
void all(Counts& counts) {
  check_equal(counts.now.read(), size_of(MPI_COMM_WORLD) - 1, "connections after MPI_Init");
  exchange_with_all(3000);
  check_equal(counts.now.read(), size_of(MPI_COMM_WORLD) - 1, "connections at the end");
  check_equal(counts.opened.read(), 0, "connections made since MPI_Init");
}

/// With tcp.idle_s=1.
void rest(Counts& counts) {
  for (int round = 1; round <= 2; ++round) {
    exchange_with_all(3000);
    check_equal(counts.now.read(), size_of(MPI_COMM_WORLD) - 1, "connections in use");
    idle(4);
    check_equal(counts.now.read(), 0, "connections of an idle job");
    check_equal(counts.rested.read(), round * (size_of(MPI_COMM_WORLD) - 1), "connections at rest");
    idle(1);  // nobody is called upon before it has looked
  }
}

/// This process may have a few descriptors more than it has.
void take_descriptors() {
  constexpr int more = 4;
  const int next = dup(0);
  close(next);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(next) + more;
  check_equal(setrlimit(RLIMIT_NOFILE, &limit), 0, "setrlimit");
}

/// With tcp.connections_max or few descriptors: all arrives all the same.
void few(Counts& counts) {
  for (int round = 0; round < 3; ++round) {
    exchange_with_all(3000);
    exchange_with_all(200'000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  std::uint64_t rested = counts.rested.read();
  MPI_Allreduce(MPI_IN_PLACE, &rested, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  check(rested > 0, "no connection was ended to make room");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const Mpi mpi;
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  {
    Counts counts;
    if (what == "few_descriptors") take_descriptors();
    if (what == "ring") {
      ring(counts);
    } else if (what == "all") {
      all(counts);
    } else if (what == "idle") {
      rest(counts);
    } else {
      few(counts);
    }
  }
  MPI_T_finalize();
  passed("connections");
}
