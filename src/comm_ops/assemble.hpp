// How a communicator is put together from what its members told each other.
//
// Invariant: numbers are checked before use, since they came from elsewhere.
#pragma once

#include <memory>
#include <vector>

#include "comm_ops/exchange.hpp"

namespace hawser::comm_ops {

using base::Identity;
using core::Group;

/// The members of a new communicator on one side, and their numbers by rank.
struct Side {
  Ref<Group> group;
  std::vector<Numbers> numbers;
};

/// What a new communicator has from its parent, or from its creator where it has none.
struct Heritage {
  Ref<core::Errhandler> errhandler;
  const core::Object* session = nullptr;
  std::shared_ptr<core::CommRegistry> registry = nullptr;
};
Heritage heritage_of(const Comm& parent);

/// An intracommunicator, with this process as rank RANK; of the `context` numbers.
Result<Ref<Comm>> make_intra(const Side& members, int rank, const Heritage& heritage);
/// The communicator over OURS that belongs to an intercommunicator; of the `local_context` numbers.
Result<Ref<Comm>> make_local(const Side& ours, int rank, const Heritage& heritage);
/// LOCAL is what make_local made of OURS.
Result<Ref<Comm>> make_inter(Ref<Comm> local, const Side& ours, const Side& theirs);
/// Of the kind of PARENT, whose heritage it has; THEIRS matters to intercommunicators only.
Result<Ref<Comm>> make_child(const Comm& parent, const Side& ours, const Side& theirs, int rank);

}  // namespace hawser::comm_ops
