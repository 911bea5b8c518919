// Ranks that wait must sleep: blocked in MPI_Recv for six seconds, each uses less than 1 % of a
// core; with an address sanitizer less than 4 %. Rank 0 sleeps outside MPI, then sends.
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "base/sanitizers.hpp"
#include "check.hpp"

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Networks wake a rank now and then, at most 15 times in this while: it sends again what rank 0,
// outside MPI, doesn't acknowledge, eight times in the first three seconds and ever more rarely
// from then on. In a virtual machine all memory has become far in the meantime: a wake-up was seen
// to take 1 to 5 ms, nearly all of it for the first look at 100 pages (so that three seconds were
// too short to tell a rank that sleeps from one that doesn't), and what a sanitizer notes of
// memory doubles the pages.
constexpr double share_max = HAWSER_ADDRESS_SANITIZER ? 0.04 : 0.01;

}  // namespace

int main() {
  using namespace multirank;
  constexpr double waited_s = 6;
  const Mpi mpi;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  int value = 7;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(waited_s));
    for (int peer = 1; peer < size; ++peer) MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
  } else {
    const double before = cpu_seconds();
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double share = (cpu_seconds() - before) / waited_s;
    if (share >= share_max) {
      fail("waiting took " + std::to_string(share * 100) + " % of a core",
           std::source_location::current());
    }
  }
  passed("waiting");
}
