// Requests: the ways to wait and to test, persistent ones, cancelling, probes and matched receives.
#include <algorithm>
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int messages = 40;

int bytes_of(int tag) { return tag % 5 == 4 ? 40000 + tag : tag * 20; }

// To every rank, itself included: one message under each tag.
struct Sends {
  std::vector<MPI_Request> requests;
  std::vector<Bytes> data;

  explicit Sends(int peer) {
    for (int tag = 0; tag < messages; ++tag) {
      data.push_back(patterned(rank_in(world) + tag, bytes_of(tag)));
      MPI_Isend(data.back().data(), bytes_of(tag), MPI_BYTE, peer, tag, world,
                &requests.emplace_back());
    }
  }
  void finish() { MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE); }
};

struct Receives {
  std::vector<MPI_Request> requests;
  std::vector<Bytes> data;
  int peer;

  explicit Receives(int source) : peer(source) {
    for (int tag = 0; tag < messages; ++tag) {
      data.emplace_back(bytes_of(tag));
      MPI_Irecv(data.back().data(), bytes_of(tag), MPI_BYTE, peer, tag, world,
                &requests.emplace_back());
    }
  }
  void check_one(int tag, const MPI_Status& status) const {
    check(requests[tag] == MPI_REQUEST_NULL, "a completed request is not MPI_REQUEST_NULL");
    check_status(status, peer, tag, bytes_of(tag), "a completed receive");
    check_pattern(data[tag], peer + tag, bytes_of(tag), "a completed receive");
  }
};

int next_rank() { return (rank_in(world) + 1) % size_of(world); }
int previous_rank() { return (rank_in(world) + size_of(world) - 1) % size_of(world); }

void wait_any() {
  Receives receives(previous_rank());
  Sends sends(next_rank());
  std::vector<bool> seen(messages, false);
  for (int i = 0; i < messages; ++i) {
    int index = -1;
    MPI_Status status;
    MPI_Waitany(messages, receives.requests.data(), &index, &status);
    check(index >= 0 && index < messages && !seen[index], "MPI_Waitany found no new request");
    seen[index] = true;
    receives.check_one(index, status);
  }
  int index = 0;
  MPI_Waitany(messages, receives.requests.data(), &index, MPI_STATUS_IGNORE);
  check_equal(index, MPI_UNDEFINED, "the index of MPI_Waitany without active requests");
  sends.finish();
}

template <typename Some>
void some(Some complete_some, bool may_find_none) {
  Receives receives(previous_rank());
  Sends sends(next_rank());
  std::vector<int> indices(messages);
  std::vector<MPI_Status> statuses(messages);
  int left = messages, found = 0;
  while (left > 0) {
    complete_some(messages, receives.requests.data(), &found, indices.data(), statuses.data());
    check(found >= (may_find_none ? 0 : 1) && found <= left, "an impossible number of completions");
    for (int i = 0; i < found; ++i) receives.check_one(indices[i], statuses[i]);
    left -= found;
  }
  complete_some(messages, receives.requests.data(), &found, indices.data(), statuses.data());
  check_equal(found, MPI_UNDEFINED, "the number of completions without active requests");
  sends.finish();
}

void test_all_and_any() {
  {
    Receives receives(previous_rank());
    Sends sends(next_rank());
    std::vector<MPI_Status> statuses(messages);
    int done = 0;
    while (!done) MPI_Testall(messages, receives.requests.data(), &done, statuses.data());
    for (int tag = 0; tag < messages; ++tag) receives.check_one(tag, statuses[tag]);
    sends.finish();
  }
  Receives receives(previous_rank());
  Sends sends(next_rank());
  for (int i = 0; i < messages; ++i) {
    int done = 0, index = -1;
    MPI_Status status;
    while (!done) MPI_Testany(messages, receives.requests.data(), &index, &done, &status);
    receives.check_one(index, status);
  }
  sends.finish();
}

void get_status() {
  int value = rank_in(world), got = -1, done = 0;
  MPI_Request receive, send;
  MPI_Irecv(&got, 1, MPI_INT, previous_rank(), 1, world, &receive);
  MPI_Isend(&value, 1, MPI_INT, next_rank(), 1, world, &send);
  MPI_Status status;
  while (!done) MPI_Request_get_status(receive, &done, &status);
  check(receive != MPI_REQUEST_NULL, "MPI_Request_get_status freed the request");
  check_equal(got, previous_rank(), "a value received");
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

void persistent() {
  constexpr int rounds = 30;
  for (int bytes : {8, 3000, 100000}) {
    Bytes out(bytes), in(bytes);
    MPI_Request requests[2];
    MPI_Recv_init(in.data(), bytes, MPI_BYTE, previous_rank(), 9, world, &requests[0]);
    MPI_Send_init(out.data(), bytes, MPI_BYTE, next_rank(), 9, world, &requests[1]);
    MPI_Status statuses[2];
    MPI_Wait(&requests[0], &statuses[0]);
    check_status(statuses[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "an inactive request");
    for (int round = 0; round < rounds; ++round) {
      std::ranges::copy(patterned(rank_in(world) + round, bytes), out.begin());
      std::fill(in.begin(), in.end(), 0);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, statuses);
      check(requests[0] != MPI_REQUEST_NULL, "a persistent request became MPI_REQUEST_NULL");
      check_status(statuses[0], previous_rank(), 9, bytes, "a persistent receive");
      check_pattern(in, previous_rank() + round, bytes, "a persistent receive");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    check(requests[0] == MPI_REQUEST_NULL, "a freed request is not MPI_REQUEST_NULL");
  }
}

// A cancelled receive takes no message; one that was matched is not cancelled.
void cancelled() {
  int unwanted = -1, got = -1, flag = 0;
  MPI_Request receive, send;
  MPI_Status status;
  MPI_Irecv(&unwanted, 1, MPI_INT, MPI_ANY_SOURCE, 4, world, &receive);
  MPI_Cancel(&receive);
  MPI_Wait(&receive, &status);
  MPI_Test_cancelled(&status, &flag);
  check(flag, "a receive that nothing matched was not cancelled");
  MPI_Barrier(world);
  const int rank = rank_in(world);
  MPI_Isend(&rank, 1, MPI_INT, next_rank(), 4, world, &send);
  MPI_Recv(&got, 1, MPI_INT, previous_rank(), 4, world, &status);
  MPI_Test_cancelled(&status, &flag);
  check(!flag, "a receive that succeeded says that it was cancelled");
  check_equal(got, previous_rank(), "the value after a cancelled receive");
  check_equal(unwanted, -1, "the buffer of a cancelled receive");
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

void probes() {
  for (int bytes : {0, 5, 2000, 200000}) {
    const Bytes out = patterned(rank_in(world), bytes);
    Bytes in(bytes);
    MPI_Request send;
    MPI_Status status;
    int flag = 0;
    MPI_Isend(out.data(), bytes, MPI_BYTE, next_rank(), 6, world, &send);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    check_status(status, previous_rank(), 6, bytes, "MPI_Probe");
    MPI_Iprobe(previous_rank(), 6, world, &flag, &status);
    check(flag, "MPI_Iprobe missed a message that MPI_Probe saw");
    MPI_Recv(in.data(), bytes, MPI_BYTE, previous_rank(), 6, world, &status);
    check_pattern(in, previous_rank(), bytes, "the message after a probe");
    MPI_Iprobe(MPI_ANY_SOURCE, 7, world, &flag, &status);
    check(!flag, "MPI_Iprobe found a message that nobody sent");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
  }
}

// A message that a matched probe took belongs to its handle alone, whatever else is received.
void matched_probes() {
  for (int bytes : {0, 8, 2000, 200000}) {
    const Bytes first = patterned(rank_in(world), bytes), second = patterned(77, bytes);
    Bytes in(bytes);
    MPI_Request sends[2], receive;
    MPI_Status status;
    MPI_Message message;
    MPI_Isend(first.data(), bytes, MPI_BYTE, next_rank(), 6, world, &sends[0]);
    MPI_Isend(second.data(), bytes, MPI_BYTE, next_rank(), 6, world, &sends[1]);
    MPI_Mprobe(MPI_ANY_SOURCE, 6, world, &message, &status);
    check_status(status, previous_rank(), 6, bytes, "MPI_Mprobe");
    MPI_Recv(in.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    check_pattern(in, 77, bytes, "the message behind a matched one");
    if (bytes % 16 == 0) {
      MPI_Mrecv(in.data(), bytes, MPI_BYTE, &message, &status);
    } else {
      MPI_Imrecv(in.data(), bytes, MPI_BYTE, &message, &receive);
      MPI_Wait(&receive, &status);
    }
    check(message == MPI_MESSAGE_NULL, "a received message is not MPI_MESSAGE_NULL");
    check_status(status, previous_rank(), 6, bytes, "MPI_Mrecv");
    check_pattern(in, previous_rank(), bytes, "MPI_Mrecv");
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    int flag = 1;
    MPI_Improbe(MPI_ANY_SOURCE, 7, world, &flag, &message, &status);
    check(!flag, "MPI_Improbe found a message that nobody sent");
    MPI_Barrier(world);
  }
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(MPI_PROC_NULL, 1, world, &message, &status);
  check(message == MPI_MESSAGE_NO_PROC, "the message of MPI_PROC_NULL");
  MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, &status);
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_Mrecv of MPI_MESSAGE_NO_PROC");
}

// Whoever waits for several is told of a handle that is wrong, though an earlier one never
// completes; a truncated message is an error whether its status is asked for or not.
void wrong_ones() {
  const int self = rank_in(world);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  char byte = 0;
  MPI_Request stale = MPI_REQUEST_NULL;
  MPI_Irecv(&byte, 1, MPI_BYTE, self, 1, world, &stale);
  const MPI_Request kept = stale;
  MPI_Send(&byte, 1, MPI_BYTE, self, 1, world);
  MPI_Wait(&stale, MPI_STATUS_IGNORE);
  check(stale == MPI_REQUEST_NULL, "a request that was waited for is not MPI_REQUEST_NULL");
  MPI_Request endless = MPI_REQUEST_NULL;
  MPI_Irecv(&byte, 1, MPI_BYTE, self, 2, world, &endless);
  MPI_Request both[2] = {endless, kept};
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_class(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "what MPI_Waitall says");
  MPI_Send(&byte, 1, MPI_BYTE, self, 2, world);
  check_class(MPI_Waitall(1, &endless, MPI_STATUSES_IGNORE), MPI_SUCCESS, "what MPI_Waitall says");
  char two[2] = {};
  for (const bool asked : {false, true}) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&byte, 1, MPI_BYTE, self, 3, world, &request);
    MPI_Send(two, 2, MPI_BYTE, self, 3, world);
    MPI_Status status;
    check_class(MPI_Waitall(1, &request, asked ? &status : MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS,
                "a truncated message under MPI_Waitall");
    MPI_Irecv(&byte, 1, MPI_BYTE, self, 3, world, &request);
    MPI_Send(two, 2, MPI_BYTE, self, 3, world);
    check_class(MPI_Wait(&request, asked ? &status : MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                "a truncated message under MPI_Wait");
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_class(MPI_Irecv(&byte, 1, MPI_BYTE, size_of(world), 0, world, &request), MPI_ERR_RANK,
              "a source that does not exist");
  check_class(MPI_Irecv(&byte, 1, MPI_BYTE, self, -1, world, &request), MPI_ERR_TAG,
              "a tag that is none");
  check_class(MPI_Isend(&byte, -1, MPI_BYTE, self, 0, world, &request), MPI_ERR_COUNT,
              "a negative count");
  check_class(MPI_Send(nullptr, 1, MPI_BYTE, self, 0, world), MPI_ERR_BUFFER, "a null buffer");
  check_class(MPI_Recv(&byte, 1, MPI_DATATYPE_NULL, self, 0, world, MPI_STATUS_IGNORE),
              MPI_ERR_TYPE, "a null datatype");
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main() {
  const Mpi mpi;
  // A barrier after each: its wildcards must not find messages of the next.
  for (const auto section :
       {wait_any, +[] { some(MPI_Waitsome, false); }, +[] { some(MPI_Testsome, true); },
        test_all_and_any, get_status, persistent, cancelled, probes, matched_probes, wrong_ones}) {
    section();
    MPI_Barrier(world);
  }
  passed("requests");
}
