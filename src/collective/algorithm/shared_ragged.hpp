// Collectives of a team whose members don't know the lengths of each other's blocks: each shows in
// a step what it has, and its length with it.
//
// A length that another shows is looked at before it is used: it must be the one that the reader
// expects, and lie in that one's place. A block for which there is no room in a step goes by a
// message (gatherv, scatterv): who sends it and who receives it know that by its length alone. Or
// all take another step, for all have seen that somebody is not done (alltoallv, alltoallw).
#pragma once

#include "collective/arguments.hpp"

namespace hawser::collective {

template <class Executor>
void gatherv_shared(Executor ex, const GathervArguments& a);
template <class Executor>
void scatterv_shared(Executor ex, const ScattervArguments& a);
template <class Executor>
void alltoallv_shared(Executor ex, const AlltoallvArguments& a);
template <class Executor>
void alltoallw_shared(Executor ex, const AlltoallwArguments& a);

}  // namespace hawser::collective
