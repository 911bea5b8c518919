// A rank forks while its messages are under way: the child writes to the same pages and ends, by
// _exit() and by exit(); system() works; and what the parent sends and gets stays right.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "check.hpp"

namespace {

using namespace multirank;

constexpr int rounds = 30;
constexpr int message_bytes = 1 << 20;
constexpr int messages = 4;  // under way at a time, in each direction

/// In the child: nothing of MPI, but what any program does.
[[noreturn]] void be_a_child(int round, std::vector<Bytes>& sent, std::vector<Bytes>& received) {
  for (Bytes& each : sent) std::ranges::fill(each, 0xee);
  for (Bytes& each : received) std::ranges::fill(each, 0xee);
  received.clear();  // gives memory back
  if (round % 2 == 0) ::_exit(7);
  std::exit(7);
}

void check_child(int status, const char* what) {
  check(WIFEXITED(status), what);
  check_equal(WEXITSTATUS(status), 7, what);
}

void fork_in_between(int round, std::vector<Bytes>& sent, std::vector<Bytes>& received) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  check(child >= 0, "a rank can fork");
  if (child == 0) be_a_child(round, sent, received);
  // The child's pages are copies by now, or will be by what the parent does.
  if (round % 3 == 0) check_child(std::system("exit 7"), "system() works");
  int status = 0;
  check_equal(::waitpid(child, &status, 0), child, "the child that ended");
  check_child(status, "the child ends as it wants to");
}

void exchange(int rank, int round) {
  std::vector<Bytes> sent;
  std::vector<Bytes> received(messages, Bytes(message_bytes));
  for (int i = 0; i < messages; ++i)
    sent.push_back(patterned(round * messages + i + rank, message_bytes));
  std::vector<MPI_Request> requests(2 * messages);
  for (int i = 0; i < messages; ++i) {
    MPI_Irecv(received[i].data(), message_bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD,
              &requests[i]);
    MPI_Isend(sent[i].data(), message_bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD,
              &requests[messages + i]);
  }
  int is_done = 0;
  if (round % 2 == rank) MPI_Testall(2 * messages, requests.data(), &is_done, MPI_STATUSES_IGNORE);
  fork_in_between(round, sent, received);
  MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < messages; ++i)
    check_pattern(received[i], round * messages + i + 1 - rank, message_bytes, "a message");
}

}  // namespace

int main() {
  const Mpi mpi;
  for (int round = 0; round < rounds; ++round) exchange(rank_in(MPI_COMM_WORLD), round);
  passed("forking");
}
