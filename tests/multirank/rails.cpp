// Two ports of softrdma, of which one goes down and comes back while messages go on:
// `rails SOFTRDMA-COMMAND`. Two ranks.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

constexpr int short_bytes = 1500, long_bytes = 1 << 20, rounds = 300, attempts_max = 100;

/// Messages to and fro, checked.
void exchange(int bytes, int times) {
  const int rank = rank_in(MPI_COMM_WORLD), peer = 1 - rank;
  Bytes in(static_cast<std::size_t>(bytes));
  for (int i = 0; i < times; ++i) {
    const Bytes out = patterned(i + rank, bytes);
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, peer, 0, in.data(), bytes, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_pattern(in, i + peer, bytes, "a message");
  }
}

/// What each port has sent of short messages, and then of long ones too.
struct Sent {
  std::uint64_t of_short[2];
  std::uint64_t of_all[2];
};

Sent measure(Counter& bytes) {
  Sent sent{};
  const std::uint64_t before[] = {bytes.read(0), bytes.read(1)};
  exchange(short_bytes, rounds);
  for (int i : {0, 1}) sent.of_short[i] = bytes.read(i) - before[i];
  exchange(long_bytes, 8);
  for (int i : {0, 1}) sent.of_all[i] = bytes.read(i) - before[i];
  return sent;
}

void set_port(const std::string& command, const char* what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) {
    const std::string fabric = std::getenv("SOFTRDMA_FABRIC");
    const std::string line = command + " fault --fabric " + fabric + " " + what + " 1";
    check_equal(std::system(line.c_str()), 0, what);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Until both ranks find it so: a port's event is looked for now and then.
template <class Wanted>
void measure_until(Counter& bytes, const char* what, Wanted&& wanted) {
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    int is_so = wanted(measure(bytes)) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_so, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (is_so != 0) return;
  }
  check(false, what);
}

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  if (argc < 2 || size_of(MPI_COMM_WORLD) != 2) return 2;
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  {
    Counter bytes("transport.rail_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    bytes.start();
    constexpr std::uint64_t least = std::uint64_t{short_bytes} * rounds;
    const auto by_first = [](const Sent& sent) {
      return sent.of_short[0] >= least && sent.of_short[1] < least / 10;
    };
    const auto by_both = [&](const Sent& sent) {
      return by_first(sent) && sent.of_all[1] - sent.of_short[1] >= long_bytes;
    };
    const auto by_other = [](const Sent& sent) {
      return sent.of_short[1] >= least && sent.of_all[0] < least / 10 &&
             sent.of_all[1] >= std::uint64_t{8} * long_bytes;
    };
    measure_until(bytes, "short messages go by the first port, long ones by both", by_both);
    set_port(argv[1], "port-down");
    measure_until(bytes, "messages go on by the other port", by_other);
    set_port(argv[1], "port-up");
    measure_until(bytes, "the port is used again when it is up", by_both);
  }
  MPI_T_finalize();
}
