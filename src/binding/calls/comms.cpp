// Communicators: what needs no communication. Creation stands in comm_creation.cpp.
#include <fmt/format.h>

#include "binding/generated/comms.hpp"

namespace hawser::calls {

using core::Comm;

namespace {

/// A group is immutable; what a second handle changes is only the handle.
Ref<core::Group> shared(const core::Group& group) {
  return Ref<core::Group>::share(const_cast<core::Group*>(&group));
}

Result<void> check_inter(const Comm& comm) {
  if (comm.is_inter()) return {};
  return base::Error(base::ErrorClass::comm, "the communicator is no intercommunicator");
}

}  // namespace

Result<void> comm_rank(Runtime&, Comm& comm, int& rank) {
  rank = comm.rank();
  return {};
}

Result<void> comm_size(Runtime&, Comm& comm, int& size) {
  size = comm.size();
  return {};
}

Result<void> comm_remote_size(Runtime&, Comm& comm, int& size) {
  HAWSER_TRY(check_inter(comm));
  size = comm.peer_count();
  return {};
}

Result<void> comm_group(Runtime&, Comm& comm, HandleOut<core::Group> group) {
  group.set(shared(comm.group()));
  return {};
}

Result<void> comm_remote_group(Runtime&, Comm& comm, HandleOut<core::Group> group) {
  HAWSER_TRY(check_inter(comm));
  group.set(shared(comm.peer_group()));
  return {};
}

Result<void> comm_test_inter(Runtime&, Comm& comm, int& flag) {
  flag = comm.is_inter() ? 1 : 0;
  return {};
}

Result<void> comm_compare(Runtime&, Comm& comm1, Comm& comm2, int& result) {
  result = static_cast<int>(comm1.compare(comm2));
  return {};
}

Result<void> comm_get_name(Runtime&, Comm* comm, StringOut comm_name, int& resultlen) {
  resultlen = comm_name.set(comm == nullptr ? "MPI_COMM_NULL" : comm->name());
  return {};
}

Result<void> comm_set_name(Runtime&, Comm& comm, std::string_view comm_name) {
  comm.set_name(std::string(comm_name.substr(0, MPI_MAX_OBJECT_NAME - 1)));
  return {};
}

Result<void> comm_get_info(Runtime&, Comm& comm, HandleOut<core::Info> info_used) {
  info_used.set(comm.info() != nullptr ? comm.info()->duplicate() : base::make_ref<core::Info>());
  return {};
}

Result<void> comm_set_info(Runtime&, Comm& comm, core::Info& info) {
  comm.set_info(info.duplicate());
  return {};
}

}  // namespace hawser::calls
