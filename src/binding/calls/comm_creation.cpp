// Communicators: making and ending them (MPI-5.0 §7.4, §7.6, §11.3).
#include "binding/calls/show.hpp"
#include "binding/generated/comms.hpp"
#include "binding/generated/sessions.hpp"

namespace hawser::calls {

using core::Comm;

namespace {

comm_ops::CommFactory& factory(Runtime& runtime) { return runtime.process()->comms(); }

Result<void> show_later(Runtime& runtime, Comm& comm, core::Info* info, HandleOut<Comm> newcomm,
                        HandleOut<core::Request> request) {
  Result<Ref<core::Request>> started = factory(runtime).idup(
      comm, info, [newcomm](Ref<Comm> made) { newcomm.set(std::move(made)); });
  if (!started) return started.take_error();
  request.set(std::move(*started));
  return {};
}

/// Attributes go while the handle is still good for their callbacks; an error of one keeps the
/// communicator.
Result<void> end(Runtime& runtime, HandleInOut<Comm> comm) {
  if (comm.is_predefined())
    return base::Error(base::ErrorClass::comm,
                       comm->name() + " can't be freed; it ends with MPI_Finalize");
  HAWSER_TRY(comm->attributes().clear(*comm));
  runtime.process()->buffered_sends().drop(comm.get());
  comm.take();
  return {};
}

}  // namespace

Result<void> comm_dup(Runtime& runtime, Comm& comm, HandleOut<Comm> newcomm) {
  return show(factory(runtime).dup(comm, nullptr), newcomm);
}

Result<void> comm_dup_with_info(Runtime& runtime, Comm& comm, core::Info* info,
                                HandleOut<Comm> newcomm) {
  return show(factory(runtime).dup(comm, info), newcomm);
}

Result<void> comm_idup(Runtime& runtime, Comm& comm, HandleOut<Comm> newcomm,
                       HandleOut<core::Request> request) {
  return show_later(runtime, comm, nullptr, newcomm, request);
}

Result<void> comm_idup_with_info(Runtime& runtime, Comm& comm, core::Info* info,
                                 HandleOut<Comm> newcomm, HandleOut<core::Request> request) {
  return show_later(runtime, comm, info, newcomm, request);
}

Result<void> comm_split(Runtime& runtime, Comm& comm, int color, int key, HandleOut<Comm> newcomm) {
  return show(factory(runtime).split(comm, color, key), newcomm);
}

Result<void> comm_split_type(Runtime& runtime, Comm& comm, int split_type, int key,
                             core::Info* info, HandleOut<Comm> newcomm) {
  return show(factory(runtime).split_type(comm, split_type, key, info), newcomm);
}

Result<void> comm_create(Runtime& runtime, Comm& comm, core::Group& group,
                         HandleOut<Comm> newcomm) {
  return show(factory(runtime).create(comm, group), newcomm);
}

Result<void> comm_create_group(Runtime& runtime, Comm& comm, core::Group& group, int tag,
                               HandleOut<Comm> newcomm) {
  return show(factory(runtime).create_group(comm, group, tag), newcomm);
}

Result<void> comm_create_from_group(Runtime& runtime, core::Group& group,
                                    std::string_view stringtag, core::Info* info,
                                    core::Errhandler& errhandler, HandleOut<Comm> newcomm) {
  return show(
      factory(runtime).create_from_group(
          group, stringtag, info, Ref<core::Errhandler>::share(&errhandler), group.session()),
      newcomm);
}

Result<void> comm_free(Runtime& runtime, HandleInOut<Comm> comm) { return end(runtime, comm); }

Result<void> intercomm_create(Runtime& runtime, Comm& local_comm, int local_leader, Comm* peer_comm,
                              int remote_leader, int tag, HandleOut<Comm> newintercomm) {
  return show(runtime.process()->connections().intercomm_create(local_comm, local_leader, peer_comm,
                                                                remote_leader, tag),
              newintercomm);
}

Result<void> intercomm_create_from_groups(Runtime& runtime, core::Group& local_group,
                                          int local_leader, core::Group* remote_group,
                                          int remote_leader, std::string_view stringtag,
                                          core::Info* info, core::Errhandler& errhandler,
                                          HandleOut<Comm> newintercomm) {
  return show(runtime.process()->connections().intercomm_create_from_groups(
                  local_group, local_leader, remote_group, remote_leader, stringtag, info,
                  Ref<core::Errhandler>::share(&errhandler), local_group.session()),
              newintercomm);
}

Result<void> intercomm_merge(Runtime& runtime, Comm& intercomm, bool high,
                             HandleOut<Comm> newintracomm) {
  return show(factory(runtime).merge(intercomm, high), newintracomm);
}

}  // namespace hawser::calls
