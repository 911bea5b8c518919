// A job under a launcher: facts SIZE [abort|bare|sessions]
//
// Checks what the launcher is to tell, and that a program which a rank starts is a job of its own.
// abort: the last rank ends the job with code 7. bare: the last rank exits without MPI_Finalize.
// sessions: a job that never calls MPI_Init.
#include <cstdlib>
#include <string>

#include "tests/multirank/check.hpp"

namespace {

using namespace multirank;

void check_world(int size) {
  check_equal(size_of(MPI_COMM_WORLD), size, "size of MPI_COMM_WORLD");
  int* universe = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, static_cast<void*>(&universe), &found);
  check(found == 0 || *universe >= size, "the universe is smaller than the world");
  int* app = nullptr;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&app), &found);
  check(found == 0 || *app == 0, "there is one program, and this is not number 0");
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  check_equal(size_of(host), size, "ranks on this host");
  MPI_Comm_free(&host);
}

void check_child(const char* program) {
  const std::string command = std::string(program) + " 1";
  check_equal(std::system(command.c_str()), 0, "exit code of a program that rank 0 started");
}

void run_sessions(int size) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_create_from_group(group, "facts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  if (size_of(comm) != size) std::abort();
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const int size = std::atoi(arguments[1]);
  const std::string mode = count > 2 ? arguments[2] : "";
  if (mode == "sessions") {
    run_sessions(size);
    return 0;
  }
  const Mpi mpi;
  check_world(size);
  const bool is_last = rank_in(MPI_COMM_WORLD) == size - 1;
  if (mode == "abort" && is_last) MPI_Abort(MPI_COMM_WORLD, 7);
  if (mode == "bare" && is_last) std::_Exit(5);
  if (!mode.empty()) {
    // Until the launcher ends us.
    int nothing = 0;
    MPI_Recv(&nothing, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (size > 1 && rank_in(MPI_COMM_WORLD) == 0) check_child(arguments[0]);
  passed("facts");
}
