// Each function of mpi-ext.h, on 4 ranks or more under mpirun --keep-going.
//
//     calls CASE
//
// The lowest rank that is left says "CASE: all is well".
#include <algorithm>
#include <cstring>
#include <string_view>

#include "support.hpp"

using namespace mitigation;

namespace {

constexpr int victim = 1;
constexpr int many = 200'000;  // ints: more than goes unasked
constexpr unsigned moment_us = 30'000;

void say_classes() {
  for (const int error_class :
       {MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING, MPIX_ERR_REVOKED}) {
    require(class_of(error_class) == error_class, "a class is its own class");
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error_class, text, &length);
    require(std::strncmp(text, "MPIX_ERR_", 9) == 0, "the string names the class");
    int added = 0;
    MPI_Add_error_class(&added);
    require(added > error_class, "classes of the program are above it");
  }
}

/// What a revoked communicator still does, and what not.
void require_revoked(MPI_Comm comm) {
  int word = 0;
  int flag = 0;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 1, "it is revoked");
  const int peer = (rank_in(comm) + 1) % size_of(comm);
  require_class(MPI_Send(&word, 1, MPI_INT, peer, 1, comm), MPIX_ERR_REVOKED, "send");
  require_class(MPI_Isend(&word, 1, MPI_INT, peer, 1, comm, &request), MPIX_ERR_REVOKED, "isend");
  require_class(MPI_Irecv(&word, 1, MPI_INT, peer, 1, comm, &request), MPIX_ERR_REVOKED, "irecv");
  require_class(MPI_Iprobe(peer, 1, comm, &flag, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED, "iprobe");
  require_class(MPI_Barrier(comm), MPIX_ERR_REVOKED, "barrier");
  require_class(MPI_Ibarrier(comm, &request), MPIX_ERR_REVOKED, "ibarrier");
  require_class(MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 1, comm), MPIX_ERR_REVOKED,
                "a send to nobody");
  require_class(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE),
                MPIX_ERR_REVOKED, "a receive from nobody");
  require_class(MPI_Probe(MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED,
                "a probe for nobody");
  require_class(MPI_Comm_dup(comm, &other), MPIX_ERR_REVOKED, "dup");
  require_class(MPI_Comm_split(comm, 0, 0, &other), MPIX_ERR_REVOKED, "split");
  require(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "revoked again");
}

/// Agrees, shrinks, and computes with what is left.
MPI_Comm go_on(MPI_Comm comm, int ranks_left) {
  int flag = 1;
  require(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS, "failure_ack");
  MPIX_Comm_agree(comm, &flag);
  require(flag == 1, "agreed");
  MPI_Comm left = MPI_COMM_NULL;
  require_class(MPIX_Comm_shrink(comm, &left), MPI_SUCCESS, "shrink");
  require(size_of(left) == ranks_left, "the right number is left");
  int sum = 0;
  const int one = 1;
  require_class(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left), MPI_SUCCESS, "allreduce");
  require(sum == ranks_left, "all take part");
  return left;
}

void revoke_receives() {
  MPI_Comm comm = duplicate_world();
  int flag = 1;
  require(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 0, "not revoked yet");
  int word = 0;
  if (rank_in(comm) == 0) {
    ::usleep(moment_us);
    require(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "revoke");
  } else {
    const int source = rank_in(comm) % 2 == 0 ? 0 : MPI_ANY_SOURCE;
    require_class(MPI_Recv(&word, 1, MPI_INT, source, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED,
                  "a receive that waits");
  }
  require_revoked(comm);
  MPI_Comm left = go_on(comm, size_of(comm));
  MPI_Comm_free(&left);
  require(MPI_Comm_free(&comm) == MPI_SUCCESS, "free");
}

void revoke_probes() {
  MPI_Comm comm = duplicate_world();
  MPI_Message message = MPI_MESSAGE_NULL;
  if (rank_in(comm) == 0) {
    ::usleep(moment_us);
    MPIX_Comm_revoke(comm);
  } else if (rank_in(comm) == 1) {
    require_class(MPI_Probe(0, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED, "a probe");
  } else {
    require_class(MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED,
                  "a matched probe");
  }
  MPI_Comm left = go_on(comm, size_of(comm));
  MPI_Comm_free(&left);
  MPI_Comm_free(&comm);
}

/// Messages that nobody receives: long ones, and more short ones than there is credit for.
void revoke_sends() {
  MPI_Comm comm = duplicate_world();
  std::vector<int> data(many, 7);
  if (rank_in(comm) == 0) {
    ::usleep(moment_us);
    MPIX_Comm_revoke(comm);
  } else {
    std::vector<MPI_Request> requests(40, MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const int code = MPI_Isend(data.data(), i % 2 == 0 ? 5000 : many, MPI_INT, 0,
                                 static_cast<int>(i), comm, &requests[i]);
      if (class_of(code) == MPIX_ERR_REVOKED) break;
      require_class(code, MPI_SUCCESS, "isend");
    }
    const int code = MPI_Ssend(data.data(), many, MPI_INT, 0, 99, comm);
    require_class(code, MPIX_ERR_REVOKED, "a synchronous send that nobody receives");
    for (MPI_Request& request : requests) {
      const int done = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
      require(done == MPI_SUCCESS || done == MPIX_ERR_REVOKED, "a send ends");
    }
  }
  MPI_Comm left = go_on(comm, size_of(comm));
  // The credit of what was dropped came back.
  for (int round = 0; round < 300; ++round) {
    const int to = (rank_in(left) + 1) % size_of(left);
    const int from = (rank_in(left) + size_of(left) - 1) % size_of(left);
    std::vector<int> in(5000);
    require_class(MPI_Sendrecv(data.data(), 5000, MPI_INT, to, 1, in.data(), 5000, MPI_INT, from, 1,
                               left, MPI_STATUS_IGNORE),
                  MPI_SUCCESS, "an exchange afterwards");
  }
  MPI_Comm_free(&left);
  MPI_Comm_free(&comm);
}

/// With WARM_UP the collectives are those of shared memory.
void revoke_collectives(int warm_up) {
  MPI_Comm comm = duplicate_world();
  for (int i = 0; i < warm_up; ++i) MPI_Barrier(comm);
  std::vector<int> data(many, 1);
  if (rank_in(comm) == 0) {
    ::usleep(moment_us);
    MPIX_Comm_revoke(comm);
  } else {
    require_class(MPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_INT, MPI_SUM, comm),
                  MPIX_ERR_REVOKED, "a collective that waits");
  }
  require_revoked(comm);
  MPI_Comm left = go_on(comm, size_of(comm));
  MPI_Comm_free(&left);
  MPI_Comm_free(&comm);
}

void revoke_nonblocking_collective() {
  MPI_Comm comm = duplicate_world();
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank_in(comm) == 0) {
    ::usleep(moment_us);
    MPIX_Comm_revoke(comm);
  } else {
    require_class(MPI_Ibarrier(comm, &request), MPI_SUCCESS, "ibarrier");
    require_class(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED, "its wait");
  }
  MPI_Comm left = go_on(comm, size_of(comm));
  MPI_Comm_free(&left);
  MPI_Comm_free(&comm);
}

/// A revocation that comes while others still make the communicator.
void revoke_early() {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    const int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    require_class(code, MPI_SUCCESS, "dup");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (round % size_of(comm) == rank_in(comm)) MPIX_Comm_revoke(comm);
    int word = 0;
    const int from = round % size_of(comm);
    if (from != rank_in(comm))
      require_class(MPI_Recv(&word, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED,
                    "a receive");
    MPI_Comm_free(&comm);
  }
}

void agree() {
  MPI_Comm comm = duplicate_world();
  for (int round = 0; round < 50; ++round) {
    int flag = ~(1 << rank_in(comm));
    require_class(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS, "agree");
    require(flag == static_cast<int>(~0U << size_of(comm)), "the conjunction of all");
  }
  int first = 3, second = rank_in(comm) == 2 ? 4 : 6;
  std::vector<MPI_Request> requests(2);
  require_class(MPIX_Comm_iagree(comm, &first, &requests[0]), MPI_SUCCESS, "iagree");
  require_class(MPIX_Comm_iagree(comm, &second, &requests[1]), MPI_SUCCESS, "iagree");
  require_class(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS, "waitall");
  require(first == 3 && second == 4, "both conjunctions");
  MPI_Comm_free(&comm);
}

/// Even ranks of WORLD on one side, odd ones on the other.
MPI_Comm two_sides(MPI_Comm world) {
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  const int side = rank_in(world) % 2;
  MPI_Comm_split(world, side, 0, &half);
  require_class(MPI_Intercomm_create(half, 0, world, 1 - side, 5, &inter), MPI_SUCCESS, "inter");
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Comm_free(&half);
  meet();
  return inter;
}

/// On both sides of an intercommunicator together.
void agree_inter() {
  MPI_Comm world = duplicate_world();
  MPI_Comm inter = two_sides(world);
  const int side = rank_in(world) % 2;
  int flag = ~(1 << rank_in(world));
  require_class(MPIX_Comm_agree(inter, &flag), MPI_SUCCESS, "agree");
  require(flag == static_cast<int>(~0U << size_of(world)), "the conjunction of both sides");
  if (rank_in(world) == 0) MPIX_Comm_revoke(inter);
  int word = 0;
  if (side == 1)
    require_class(MPI_Recv(&word, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED,
                  "a receive from the other side");
  MPI_Comm left = MPI_COMM_NULL;
  require_class(MPIX_Comm_shrink(inter, &left), MPI_SUCCESS, "shrink");
  int sum = 0;
  const int one = 1;
  require_class(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left), MPI_SUCCESS, "allreduce");
  int others = 0;
  MPI_Comm_remote_size(inter, &others);
  require(sum == others, "all of the other side are there");
  MPI_Comm_free(&left);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&world);
}

/// An intercommunicator one of whose sides gets smaller, and then has nobody any more.
void shrink_inter() {
  MPI_Comm inter = two_sides(duplicate_world());
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  if (rank == 1) die();
  MPI_Comm left = MPI_COMM_NULL;
  do {
    if (left != MPI_COMM_NULL) MPI_Comm_free(&left);
    require_class(MPIX_Comm_shrink(inter, &left), MPI_SUCCESS, "shrink");
  } while (size_of(left) != size_of(inter) - rank % 2);
  MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
  meet();
  int sum = 0;
  require_class(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, left), MPI_SUCCESS, "allreduce");
  int expected = 0;
  for (int other = rank % 2 == 0 ? 3 : 0; other < size; other += 2) expected += other;
  require(sum == expected, "all of the other side that live are there");
  if (rank % 2 == 0) die();
  for (int other = 0; 2 * other < size; ++other) await_failure(left, other);
  MPI_Comm nobody = MPI_COMM_NULL;
  require_class(MPIX_Comm_shrink(left, &nobody), MPIX_ERR_PROC_FAILED, "shrink to nobody");
}

/// One dies in the middle of agreements; the others agree on all of them alike.
void agree_with_death(int who) {
  MPI_Comm comm = duplicate_world();
  std::vector<int> seen;
  for (int round = 0; round < 60; ++round) {
    if (rank_in(comm) == who && round == 30) {
      MPI_Request request = MPI_REQUEST_NULL;
      int flag = 1;
      MPIX_Comm_iagree(comm, &flag, &request);
      die();
    }
    int flag = round * 2 + 1;
    const int code = class_of(MPIX_Comm_agree(comm, &flag));
    require(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED, "agree ends");
    seen.push_back(flag);
    seen.push_back(code);
  }
  MPI_Comm left = MPI_COMM_NULL;
  require_class(MPIX_Comm_shrink(comm, &left), MPI_SUCCESS, "shrink");
  require(size_of(left) == size_of(comm) - 1, "one is gone");
  std::vector<int> lowest(seen.size()), highest(seen.size());
  const int count = static_cast<int>(seen.size());
  MPI_Allreduce(seen.data(), lowest.data(), count, MPI_INT, MPI_MIN, left);
  MPI_Allreduce(seen.data(), highest.data(), count, MPI_INT, MPI_MAX, left);
  require(seen == lowest && seen == highest, "all have seen the same");
  require(seen.back() == MPIX_ERR_PROC_FAILED, "the death was not acknowledged");
  MPI_Comm_free(&left);
}

void acknowledge() {
  MPI_Comm comm = duplicate_world();
  int word = 0;
  int flag = 1;
  if (rank_in(comm) == victim) die();
  MPI_Request request = MPI_REQUEST_NULL;
  require_class(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request), MPI_SUCCESS,
                "a receive from any source");
  MPI_Status status;
  require_class(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING, "its wait");
  require(request != MPI_REQUEST_NULL, "it stays active");
  require_class(MPI_Test(&request, &flag, &status), MPIX_ERR_PROC_FAILED_PENDING, "its test");
  require(request != MPI_REQUEST_NULL && flag == 0, "it stays active");
  require_class(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE),
                MPIX_ERR_PROC_FAILED, "a blocking one");
  require_class(MPI_Probe(MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED,
                "a probe");
  require_class(MPI_Iprobe(MPI_ANY_SOURCE, 2, comm, &flag, MPI_STATUS_IGNORE),
                MPIX_ERR_PROC_FAILED_PENDING, "iprobe");
  flag = 5;
  require_class(MPIX_Comm_agree(comm, &flag), MPIX_ERR_PROC_FAILED, "agree before");
  require(flag == 5, "the flag is agreed upon all the same");

  MPI_Group failed = MPI_GROUP_NULL, acked = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  MPIX_Comm_failure_get_acked(comm, &acked);
  int size = -1;
  MPI_Group_size(acked, &size);
  require(size == 0, "nothing is acknowledged yet");
  MPI_Group_free(&acked);
  int acknowledged = -1;
  require(MPIX_Comm_ack_failed(comm, 0, &acknowledged) == MPI_SUCCESS && acknowledged == 0, "none");
  if (rank_in(comm) == 2) {
    require(MPIX_Comm_ack_failed(comm, 7, &acknowledged) == MPI_SUCCESS && acknowledged == 1,
            "all");
  } else {
    require(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS, "failure_ack");
  }
  MPIX_Comm_failure_get_acked(comm, &acked);
  MPIX_Comm_get_failed(comm, &failed);
  MPI_Comm_group(comm, &all);
  int comparison = MPI_UNEQUAL;
  MPI_Group_compare(acked, failed, &comparison);
  require(comparison == MPI_IDENT, "what has failed is acknowledged");
  const int first = 0;
  int which = -1;
  MPI_Group_translate_ranks(failed, 1, &first, all, &which);
  require(which == victim, "it is the one that died");
  require_class(MPIX_Comm_agree(comm, &flag), MPI_SUCCESS, "agree after");

  const int to =
      rank_in(comm) == 0 ? size_of(comm) - 1 : (rank_in(comm) == 2 ? 0 : rank_in(comm) - 1);
  const int mine = rank_in(comm);
  require_class(MPI_Send(&mine, 1, MPI_INT, to, 1, comm), MPI_SUCCESS, "a send");
  require_class(MPI_Wait(&request, &status), MPI_SUCCESS, "the receive that was pending");
  require(word == status.MPI_SOURCE, "it has its message");
  for (MPI_Group* group : {&acked, &failed, &all}) MPI_Group_free(group);
  MPI_Comm left = go_on(comm, size_of(comm) - 1);
  MPI_Comm_free(&left);
}

/// Several die at a time, and others while the first are still being left behind.
void shrink_twice() {
  MPI_Comm comm = duplicate_world();
  if (rank_in(comm) == 0) die();
  MPI_Comm once = MPI_COMM_NULL, twice = MPI_COMM_NULL;
  do {
    if (once != MPI_COMM_NULL) MPI_Comm_free(&once);
    require_class(MPIX_Comm_shrink(comm, &once), MPI_SUCCESS, "shrink");
  } while (size_of(once) != size_of(comm) - 1);
  require(rank_in(once) == rank_in(comm) - 1, "the order is kept");
  MPI_Comm_set_errhandler(once, MPI_ERRORS_RETURN);
  if (rank_in(once) == 1) die();
  await_failure(once, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  require_class(MPIX_Comm_ishrink(once, &twice, &request), MPI_SUCCESS, "ishrink");
  require_class(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS, "its wait");
  require(size_of(twice) == size_of(comm) - 2, "two are gone");
  MPI_Comm left = go_on(twice, size_of(comm) - 2);
  for (MPI_Comm* each : {&left, &twice, &once, &comm}) MPI_Comm_free(each);
}

/// Nobody waits for ever, though nobody revokes: with WARM_UP, for members of a team.
void die_in_collectives(int warm_up) {
  MPI_Comm comm = duplicate_world();
  for (int i = 0; i < warm_up; ++i) MPI_Barrier(comm);
  std::vector<int> data(many, 1);
  if (rank_in(comm) == victim) {
    ::usleep(moment_us);
    die();
  }
  const int code = MPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_INT, MPI_SUM, comm);
  require_class(code, MPIX_ERR_PROC_FAILED, "a collective with a dead rank");
  require_class(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED, "the next one");
  require_class(MPI_Bcast(data.data(), 1, MPI_INT, 2, comm), MPIX_ERR_PROC_FAILED, "and another");
  MPI_Comm left = go_on(comm, size_of(comm) - 1);
  MPI_Comm_free(&left);
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case cases[] = {
    {"classes", say_classes},
    {"revoke_receives", revoke_receives},
    {"revoke_probes", revoke_probes},
    {"revoke_sends", revoke_sends},
    {"revoke_collectives", [] { revoke_collectives(0); }},
    {"revoke_team", [] { revoke_collectives(40); }},
    {"revoke_nonblocking_collective", revoke_nonblocking_collective},
    {"revoke_early", revoke_early},
    {"agree", agree},
    {"agree_inter", agree_inter},
    {"shrink_inter", shrink_inter},
    {"agree_first_dies", [] { agree_with_death(0); }},
    {"agree_other_dies", [] { agree_with_death(2); }},
    {"acknowledge", acknowledge},
    {"shrink_twice", shrink_twice},
    {"die_in_collectives", [] { die_in_collectives(0); }},
    {"die_in_team", [] { die_in_collectives(40); }},
};

}  // namespace

int main(int count, char** words) {
  MPI_Init(nullptr, nullptr);
  const std::string_view wanted = count == 2 ? words[1] : "";
  const auto found = std::ranges::find(cases, wanted, &Case::name);
  require(found != std::end(cases), "there is no such case");
  found->run();
  const bool speaks = rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  require(MPI_Finalize() == MPI_SUCCESS, "finalize");
  if (speaks) std::printf("%s: all is well\n", words[1]);
}
