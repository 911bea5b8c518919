// What the members of a communicator tell each other when they make a new one, and how a
// communicator is put together from that.
//
// Numbers:   every process chose its own context numbers (DESIGN §4); here it learns the others'.
//            They are checked before use: a number of zero was never told.
// Ownership: values; an exchange that goes on in the background keeps its Told alive.
// Threads:   none of their own.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "collective/executor/direct.hpp"
#include "collective/executor/plan.hpp"
#include "core/comm/comm.hpp"
#include "p2p/engine.hpp"

namespace hawser::comm_ops {

using base::Error;
using base::ErrorClass;
using base::Identity;
using base::Ref;
using base::Result;
using core::Comm;
using core::Group;

/// A process's own numbers for a communicator in the making.
struct Numbers {
  std::uint32_t context = 0;
  std::uint32_t local_context = 0;  // of an intercommunicator: for the one over its local group
};

/// What every member of a communicator said, by rank; `theirs` is the remote group's, empty on an
/// intracommunicator.
template <class Part>
struct Told {
  static_assert(std::is_trivially_copyable_v<Part>);

  Told(const Comm& comm, const Part& mine)
      : ours(static_cast<std::size_t>(comm.size())),
        theirs(static_cast<std::size_t>(comm.is_inter() ? comm.peer_count() : 0)) {
    ours[static_cast<std::size_t>(comm.rank())] = mine;
  }

  std::vector<Part> ours;
  std::vector<Part> theirs;
};

/// Fills OURS, where this process has put its own part, and THEIRS, by steps of RUN.
template <collective::Run R>
void add_exchange(R& run, Comm& comm, std::span<std::byte> ours, std::span<std::byte> theirs);

template <collective::Run R, class Part>
void add_exchange(R& run, Comm& comm, Told<Part>& told) {
  add_exchange(run, comm, std::as_writable_bytes(std::span(told.ours)),
               std::as_writable_bytes(std::span(told.theirs)));
}

/// Collective over COMM: everybody tells everybody.
template <class Part>
Result<Told<Part>> tell_all(p2p::Engine& engine, Comm& comm, const Part& mine) {
  Told<Part> told(comm, mine);
  collective::DirectRun run(engine);
  add_exchange(run, comm, told);
  HAWSER_TRY(run.finish());
  return told;
}

/// The members of a new communicator on one side, and their numbers by rank.
struct Side {
  Ref<Group> group;
  std::vector<Numbers> numbers;
};

/// What a new communicator has from its parent, or from its creator where it has none.
struct Heritage {
  Ref<core::Errhandler> errhandler;
  core::Object* session = nullptr;
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
