// Long messages between two processes of a host: whichever way each is copied, all of it is right.
// `long_messages joint`: some of them have to be copied jointly, by their receiver and their
// sender. Two ranks.
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

/// The shortest that may be copied jointly, of no pages, no stream, and of several chunks.
constexpr std::array<int, 5> sizes = {32'768, 100'001, 262'144, 700'001, 2'500'003};
constexpr int warm_bytes = 131'072, guard = 0x5a;

int peer() { return 1 - rank_in(MPI_COMM_WORLD); }

void send(const Bytes& bytes) {
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer(), 0, MPI_COMM_WORLD);
}

/// A message of SIZE from the peer, into memory that a byte behind it guards.
void receive(int seed, int size, const char* what) {
  Bytes in(static_cast<std::size_t>(size) + 1, guard);
  MPI_Recv(in.data(), size, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_pattern(in, seed, size, what);
  check_equal(in.back(), guard, "the byte behind it");
}

/// To and fro, in one buffer, of which each sender changes a byte: until IS_DONE on both sides.
template <class IsDone>
void go_to_and_fro(const IsDone& is_done) {
  constexpr int rounds_max = 20, messages = 200, messages_per_check = 20;
  Bytes place = patterned(1, warm_bytes), wanted = place;
  int are_both_done = 0;
  for (int round = 0; round < rounds_max && are_both_done == 0; ++round) {
    for (int i = 0; i < messages; ++i) {
      const std::size_t changed = static_cast<std::size_t>(i) * 601;
      ++wanted[changed];
      if (i % 2 == rank_in(MPI_COMM_WORLD)) {
        ++place[changed];
        send(place);
      } else {
        MPI_Recv(place.data(), warm_bytes, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(i % messages_per_check > 1 || place == wanted, "what goes to and fro is right");
      }
    }
    are_both_done = is_done() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &are_both_done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  check(are_both_done == 1, "some of what goes to and fro is copied jointly");
}

/// Several messages of each size from rank 0, all at once, whose sender has something else to do.
void send_and_compute(int seed) {
  constexpr std::size_t count = 20;
  constexpr auto pause = std::chrono::microseconds(300);
  for (const int size : sizes) {
    std::vector<Bytes> places;
    std::array<MPI_Request, count> requests{};
    for (std::size_t i = 0; i < count; ++i) {
      const int number = seed + static_cast<int>(i);
      if (rank_in(MPI_COMM_WORLD) == 0) {
        places.push_back(patterned(number, size));
        MPI_Isend(places[i].data(), size, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, &requests[i]);
        if (i % 5 == 0) std::this_thread::sleep_for(pause);
      } else {
        places.emplace_back(static_cast<std::size_t>(size));
        MPI_Irecv(places[i].data(), size, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    if (rank_in(MPI_COMM_WORLD) == 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      check_pattern(places[i], seed + static_cast<int>(i), size, "one of many");
  }
}

/// Received before it is sent, after it, into every other place, and not as a whole.
void receive_otherwise(int seed) {
  for (const int size : sizes) {
    if (rank_in(MPI_COMM_WORLD) == 0) {
      for (int i = 0; i < 3; ++i) send(patterned(seed + i, size));
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    receive(seed, size, "what has come before");
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    MPI_Type_vector(size, 1, 2, MPI_BYTE, &every_other);
    MPI_Type_commit(&every_other);
    Bytes wide(2 * static_cast<std::size_t>(size), guard);
    MPI_Recv(wide.data(), 1, every_other, peer(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&every_other);
    for (std::size_t i = 0; i < wide.size(); ++i)
      check(wide[i] == (i % 2 == 0 ? pattern(seed + 1, i / 2) : guard), "every other byte");
    Bytes in(static_cast<std::size_t>(size), guard);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error =
        MPI_Recv(in.data(), size - 1, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    check_class(error, MPI_ERR_TRUNCATE, "receiving a message that is too long");
    check_pattern(in, seed + 2, size - 1, "what fits of it");
    check_equal(in.back(), guard, "the byte behind it");
  }
}

/// Both ways at the same time, and one way again: the way changes.
void cross(int seed) {
  for (const int size : sizes) {
    const Bytes out = patterned(seed + rank_in(MPI_COMM_WORLD), size);
    MPI_Request request;
    MPI_Isend(out.data(), size, MPI_BYTE, peer(), 0, MPI_COMM_WORLD, &request);
    receive(seed + peer(), size, "what crosses ours");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  const bool wants_joint = argc > 1 && std::string(argv[1]) == "joint";
  constexpr int rounds = 3;
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  {
    Counter joint("p2p.fetch.joint_copy", MPI_T_PVAR_CLASS_COUNTER);
    joint.start();
    if (wants_joint) go_to_and_fro([&] { return joint.read() > 0; });
    for (int round = 0; round < rounds; ++round) {
      send_and_compute(round);
      receive_otherwise(round);
      cross(round);
    }
  }
  MPI_T_finalize();
  passed("long messages");
  return 0;
}
