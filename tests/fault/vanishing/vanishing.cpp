// A rank that is killed while the others talk to it: operations with it fail with
// MPIX_ERR_PROC_FAILED, all others go on, and MPI_Finalize waits for nobody who is gone.
//
//     vanishing WHEN    on at least 3 ranks, under mpirun --keep-going; rank 1 is the victim
//
// WHEN: traffic   in the middle of messages of all sizes, both ways
//       silence   before it has said a word to anybody, while the others sleep
//       never     it computes for a while without calling MPI, and must not be taken for dead
// Rank 0 says "survivors: all is well" if it is.
#include <mpi-ext.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr int victim = 1;
constexpr int rounds = 120;
constexpr int last_round = 60;  // of the victim
constexpr int sizes[] = {8, 700, 3000, 20000, 300000};
constexpr unsigned compute_us = 1'500'000;

int rank = 0;
int size = 0;

void require(bool holds, const char* what, int line) {
  if (holds) return;
  std::printf("rank %d, line %d: %s\n", rank, line, what);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

bool is_aborted(int code) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  return error_class == MPIX_ERR_PROC_FAILED;
}

char sample(int from, int round) { return static_cast<char>(from * 31 + round); }

/// One message each way with everybody; false once one with the victim has failed.
bool exchange(int round) {
  const int bytes = sizes[round % static_cast<int>(std::size(sizes))];
  const auto length = static_cast<std::size_t>(bytes);
  std::vector<std::vector<char>> in(static_cast<std::size_t>(size), std::vector<char>(length));
  const std::vector<char> out(length, sample(rank, round));
  std::vector<MPI_Request> requests;
  std::vector<int> peers;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    requests.resize(requests.size() + 2, MPI_REQUEST_NULL);
    peers.insert(peers.end(), 2, peer);
    MPI_Request* pair = &requests[requests.size() - 2];
    const int received = MPI_Irecv(in[static_cast<std::size_t>(peer)].data(), bytes, MPI_CHAR, peer,
                                   round, MPI_COMM_WORLD, &pair[0]);
    const int sent = MPI_Isend(out.data(), bytes, MPI_CHAR, peer, round, MPI_COMM_WORLD, &pair[1]);
    REQUIRE(received == MPI_SUCCESS || (peer == victim && is_aborted(received)));
    REQUIRE(sent == MPI_SUCCESS || (peer == victim && is_aborted(sent)));
  }
  if (rank == victim && round == last_round) std::raise(SIGKILL);
  bool is_there = true;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    REQUIRE(code == MPI_SUCCESS || (peers[i] == victim && is_aborted(code)));
    if (code != MPI_SUCCESS) is_there = false;
    const bool is_receive = i % 2 == 0;
    if (code != MPI_SUCCESS || !is_receive) continue;
    const std::vector<char>& data = in[static_cast<std::size_t>(peers[i])];
    REQUIRE(data == std::vector<char>(length, sample(peers[i], round)));
  }
  return is_there;
}

void require_gone() {
  int word = 0;
  REQUIRE(is_aborted(MPI_Recv(&word, 1, MPI_INT, victim, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
  REQUIRE(is_aborted(MPI_Send(&word, 1, MPI_INT, victim, 9999, MPI_COMM_WORLD)));
  REQUIRE(is_aborted(MPI_Ssend(&word, 1, MPI_INT, victim, 9999, MPI_COMM_WORLD)));
  REQUIRE(is_aborted(MPI_Probe(victim, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
}

/// The survivors meet at rank 0.
void survivors_meet() {
  int word = 0;
  for (int peer = 2; peer < size && rank == 0; ++peer)
    REQUIRE(MPI_Recv(&word, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  if (rank != 0) REQUIRE(MPI_Ssend(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
}

void die_in_traffic() {
  bool was_there = true;
  for (int round = 0; round < rounds; ++round) was_there &= exchange(round);
  REQUIRE(!was_there);
  require_gone();
  survivors_meet();
}

void die_in_silence() {
  if (rank == victim) {
    ::usleep(200'000);  // until the others sleep
    std::raise(SIGKILL);
  }
  require_gone();
  survivors_meet();
}

void compute_in_silence() {
  if (rank == victim) {
    exchange(0);
    ::usleep(compute_us);
  } else {
    REQUIRE(exchange(0));
  }
  for (int round = 1; round < last_round; ++round) REQUIRE(exchange(round));
}

}  // namespace

int main(int count, char** words) {
  const std::string_view when = count == 2 ? words[1] : "";
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (when == "traffic") {
    die_in_traffic();
  } else if (when == "silence") {
    die_in_silence();
  } else {
    REQUIRE(when == "never");
    compute_in_silence();
  }
  REQUIRE(MPI_Finalize() == MPI_SUCCESS);
  if (rank == 0) std::printf("survivors: all is well\n");
}
