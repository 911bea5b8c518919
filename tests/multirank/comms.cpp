// Communicators: every way to make one, the order of attribute callbacks, error handlers, sessions.
#include <string>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

const MPI_Comm world = MPI_COMM_WORLD;

// COMM works, and is another context than its neighbours: ranks sum up to what they should.
void use(MPI_Comm comm, int rank, int size) {
  check_equal(rank_in(comm), rank, "the rank in a new communicator");
  check_equal(size_of(comm), size, "the size of a new communicator");
  int sum = -1;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  check_equal(sum, size * (size - 1) / 2, "a sum over a new communicator");
}

void copies() {
  const int rank = rank_in(world), size = size_of(world);
  MPI_Comm copy, later, node;
  MPI_Request request;
  MPI_Comm_dup(world, &copy);
  MPI_Comm_idup(copy, &later, &request);
  use(copy, rank, size);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use(later, rank, size);
  int compared = -1;
  MPI_Comm_compare(copy, later, &compared);
  check_equal(compared, MPI_CONGRUENT, "the comparison of two copies");
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  use(node, rank, size);
  for (MPI_Comm* comm : {&copy, &later, &node}) MPI_Comm_free(comm);
  check(copy == MPI_COMM_NULL, "a freed communicator is not MPI_COMM_NULL");
}

void parts() {
  const int rank = rank_in(world), size = size_of(world), parity = rank % 2,
            of_parity = (size + 1 - parity) / 2;
  MPI_Comm part, none, created;
  MPI_Group all, even;
  MPI_Comm_split(world, parity, -rank, &part);
  use(part, of_parity - 1 - rank / 2, of_parity);
  MPI_Comm_free(&part);
  MPI_Comm_split(world, MPI_UNDEFINED, 0, &none);
  check(none == MPI_COMM_NULL, "MPI_Comm_split with MPI_UNDEFINED");
  MPI_Comm_group(world, &all);
  int range[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(all, 1, range, &even);
  MPI_Comm_create(world, even, &created);
  check((created == MPI_COMM_NULL) == (parity == 1), "MPI_Comm_create outside of the group");
  if (parity == 0) {
    use(created, rank / 2, of_parity);
    MPI_Comm_free(&created);
    MPI_Comm_create_group(world, even, 9, &created);
    use(created, rank / 2, of_parity);
    MPI_Comm_free(&created);
  }
  MPI_Group_free(&even);
  MPI_Group_free(&all);
}

void between() {
  const int rank = rank_in(world), size = size_of(world);
  if (size == 1) return;
  const bool lower = rank < size / 2;
  const int mine = lower ? size / 2 : size - size / 2;
  MPI_Comm local, inter, merged;
  MPI_Comm_split(world, lower, 0, &local);
  MPI_Intercomm_create(local, 0, world, lower ? size / 2 : 0, 3, &inter);
  int is_inter = 0, remote = -1;
  MPI_Comm_test_inter(inter, &is_inter);
  MPI_Comm_remote_size(inter, &remote);
  check(is_inter, "an intercommunicator says that it is none");
  check_equal(remote, size - mine, "the size of the other group");
  MPI_Intercomm_merge(inter, lower, &merged);  // the upper ranks first
  use(merged, lower ? rank + remote : rank - size / 2, size);
  for (MPI_Comm* comm : {&merged, &inter, &local}) MPI_Comm_free(comm);
}

using Log = std::vector<std::string>;

int copy_attribute(MPI_Comm, int, void* log, void* value, void* out, int* flag) {
  static_cast<Log*>(log)->push_back("copy " + *static_cast<std::string*>(value));
  *static_cast<void**>(out) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void* value, void* log) {
  static_cast<Log*>(log)->push_back("delete " + *static_cast<std::string*>(value));
  return MPI_SUCCESS;
}

void attributes() {
  Log log;
  std::string first = "first", second = "second", third = "third";
  int keys[2], flag = 0;
  for (int& key : keys) MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &log);
  MPI_Comm comm, copy;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_attr(comm, keys[0], &first);
  MPI_Comm_set_attr(comm, keys[1], &second);
  MPI_Comm_dup(comm, &copy);
  void* value = nullptr;
  MPI_Comm_get_attr(copy, keys[1], &value, &flag);
  check(flag && value == &second, "an attribute of a copy");
  MPI_Comm_set_attr(copy, keys[0], &third);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  check(log.size() == 7, "the number of attribute callbacks");
  check(log[2] == "delete first", "an overwritten attribute is not deleted");
  check(Log(log.begin() + 5, log.end()) == Log{"delete second", "delete first"} ||
            Log(log.begin() + 5, log.end()) == Log{"delete first", "delete second"},
        "attributes are not deleted with their communicator");
  for (int& key : keys) MPI_Comm_free_keyval(&key);
  check_equal(keys[0], MPI_KEYVAL_INVALID, "a freed key");
}

int handled = MPI_SUCCESS;

void handler(MPI_Comm*, int* error, ...) { handled = *error; }

void error_handlers() {
  MPI_Comm comm;
  MPI_Errhandler mine;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(comm, mine);
  MPI_Errhandler_free(&mine);
  const int error = MPI_Send(nullptr, 0, MPI_INT, size_of(comm), 0, comm);
  check_class(error, MPI_ERR_RANK, "the error class of a rank that does not exist");
  check_class(handled, MPI_ERR_RANK, "the error that the handler saw");
  MPI_Comm_free(&comm);
}

void sessions() {
  const int rank = rank_in(world), size = size_of(world);
  for (const char* tag : {"org.hawser.first", "org.hawser.second"}) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use(comm, rank, size);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
  }
}

}  // namespace

int main() {
  const Mpi mpi;
  for (const auto section : {copies, parts, between, attributes, error_handlers, sessions}) {
    section();
  }
  passed("comms");
}
