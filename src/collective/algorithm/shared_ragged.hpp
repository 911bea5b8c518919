// Collectives of a team whose members don't know the lengths of each other's blocks: each shows in
// a step what it has, and its length with it.
//
// A length that another shows is looked at before it is used: it must be the one that the reader
// expects, and lie in that one's place. A block for which there is no room in a step goes by a
// message (gatherv, scatterv): who sends it and who receives it know that by its length alone. Or
// all take another step, for all have seen that somebody is not done (alltoallv, alltoallw).
#pragma once

#include <type_traits>

#include "collective/arguments.hpp"
#include "collective/executor/direct.hpp"
#include "collective/team/team.hpp"

namespace hawser::collective {

void shared_gatherv(Team&, DirectExecutor ex, const GathervArguments&);
void shared_scatterv(Team&, DirectExecutor ex, const ScattervArguments&);
void shared_alltoallv(Team&, DirectExecutor ex, const AlltoallvArguments&);
void shared_alltoallw(Team&, DirectExecutor ex, const AlltoallwArguments&);

/// One of these as an entry of a selection table. It is never chosen for a plan, which has no team.
template <class Executor, class Arguments,
          void (*function)(Team&, DirectExecutor, const Arguments&)>
void on_team_and_by_messages(Executor ex, const Arguments& arguments) {
  if constexpr (std::is_same_v<Executor, DirectExecutor>) function(*ex.team(), ex, arguments);
}

}  // namespace hawser::collective
