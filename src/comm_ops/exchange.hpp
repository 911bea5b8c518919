// What the members of a communicator tell each other when they make a new one: above all the
// context number that each chose for it (DESIGN §4).
//
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
using base::Ref;
using base::Result;
using core::Comm;

/// A process's own numbers for a communicator in the making; zero stands for none.
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
  HAWSER_TRY(core::check_not_revoked(comm));
  Told<Part> told(comm, mine);
  const collective::DirectRunner runner(engine);
  collective::DirectRun run(runner);
  add_exchange(run, comm, told);
  HAWSER_TRY(run.finish());
  return told;
}

}  // namespace hawser::comm_ops
