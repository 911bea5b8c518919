// User-level failure mitigation (mpi-ext.h).
#include "binding/generated/mitigation.hpp"
#include "binding/calls/show.hpp"

namespace hawser::calls {

using core::Comm;

namespace {

comm_ops::Mitigation& mitigation(Runtime& runtime) { return runtime.process()->mitigation(); }

}  // namespace

Result<void> comm_revoke(Runtime& runtime, Comm& comm) {
  mitigation(runtime).revoke(comm);
  return {};
}

Result<void> comm_is_revoked(Runtime&, Comm& comm, int& flag) {
  flag = comm.is_revoked() ? 1 : 0;
  return {};
}

Result<void> comm_failure_ack(Runtime& runtime, Comm& comm) {
  mitigation(runtime).acknowledge_all(comm);
  return {};
}

Result<void> comm_failure_get_acked(Runtime& runtime, Comm& comm,
                                    HandleOut<core::Group> failedgrp) {
  failedgrp.set(mitigation(runtime).acknowledged(comm));
  return {};
}

Result<void> comm_get_failed(Runtime& runtime, Comm& comm, HandleOut<core::Group> failedgrp) {
  failedgrp.set(mitigation(runtime).failed(comm));
  return {};
}

Result<void> comm_ack_failed(Runtime& runtime, Comm& comm, int num_to_ack, int& num_acked) {
  num_acked = mitigation(runtime).acknowledge(comm, num_to_ack);
  return {};
}

Result<void> comm_agree(Runtime& runtime, Comm& comm, int& flag) {
  return mitigation(runtime).agree(comm, flag);
}

Result<void> comm_iagree(Runtime& runtime, Comm& comm, int& flag,
                         HandleOut<core::Request> request) {
  return show(mitigation(runtime).iagree(comm, flag), request);
}

Result<void> comm_shrink(Runtime& runtime, Comm& comm, HandleOut<Comm> newcomm) {
  return show(mitigation(runtime).shrink(comm), newcomm);
}

Result<void> comm_ishrink(Runtime& runtime, Comm& comm, HandleOut<Comm> newcomm,
                          HandleOut<core::Request> request) {
  return show(mitigation(runtime).ishrink(
                  comm, [newcomm](Ref<Comm> made) { newcomm.set(std::move(made)); }),
              request);
}

}  // namespace hawser::calls
