// The selection tables: which algorithm serves which situation. Read from top to bottom; the first
// rule that is correct and best applies.
//
// The thresholds stand where one host's shared memory puts them. bytes: see Situation.
#pragma once

#include <array>

#include "collective/algorithm/allgather.hpp"
#include "collective/algorithm/allreduce.hpp"
#include "collective/algorithm/alltoall.hpp"
#include "collective/algorithm/barrier.hpp"
#include "collective/algorithm/bcast.hpp"
#include "collective/algorithm/gather.hpp"
#include "collective/algorithm/reduce.hpp"
#include "collective/algorithm/reduce_scatter.hpp"
#include "collective/algorithm/scan.hpp"
#include "collective/algorithm/scatter.hpp"
#include "collective/algorithm/shared.hpp"
#include "collective/algorithm/shared_ragged.hpp"
#include "collective/select/rule.hpp"

namespace hawser::collective {

inline constexpr base::Count kib = 1024;
inline constexpr base::Count mib = 1024 * kib;

/// table(executor, arguments) finds the table of a collective; both are for overloading only.
template <class Arguments>
struct For {};

template <class E>
constexpr auto table(For<BarrierArguments>) {
  return std::to_array<Rule<E, BarrierArguments>>({
      {"shared", in_a_team, always, on_team<E, BarrierArguments, shared_barrier>},
      {"linear", always, [](auto& s) { return s.wants_few_messages(0); }, barrier_linear},
      {"recursive_doubling", always, [](auto& s) { return s.peers_cost || s.is_power_of_two(); },
       barrier_recursive_doubling},
      {"dissemination", always, always, barrier_dissemination},
  });
}

template <class E>
constexpr auto table(For<BcastArguments>) {
  return std::to_array<Rule<E, BcastArguments>>({
      {"direct", in_a_reading_team, reading_pays, on_team<E, BcastArguments, direct_bcast>},
      // Of two, what does not fit into a place of the board's block area flows quicker through the
      // ring between them, which is longer than what a member shows on the board: its lines have
      // left the reader's nearest caches.
      {"shared", in_a_team, [](auto& s) { return s.ranks > 2 || s.bytes <= 16 * kib; },
       on_team<E, BcastArguments, shared_bcast>},
      {"linear", always, [](auto& s) { return s.ranks <= 3 || s.wants_few_messages(s.bytes); },
       bcast_linear},
      {"binomial", always,
       [](auto& s) { return s.bytes <= 32 * kib || (s.ranks < 8 && s.bytes <= 256 * kib); },
       bcast_binomial},
      {"pipelined_chain", always, [](auto& s) { return s.bytes >= s.ranks * mib; },
       bcast_pipelined_chain},
      {"scatter_allgather", always, always, bcast_scatter_allgather},
  });
}

template <class E>
constexpr auto table(For<GatherArguments>) {
  return std::to_array<Rule<E, GatherArguments>>({
      {"shared", in_a_team, always, on_team<E, GatherArguments, shared_gather>},
      {"binomial", always,
       [](auto& s) { return s.wants_trees() && s.ranks > 8 && s.bytes <= 2 * kib; },
       gather_binomial},
      {"linear", always, always, gather_linear},
  });
}

template <class E>
constexpr auto table(For<GathervArguments>) {
  return std::to_array<Rule<E, GathervArguments>>({
      {"shared", in_a_team, always, on_team_and_by_messages<E, GathervArguments, shared_gatherv>},
      {"linear", always, always, gatherv_linear},
  });
}

template <class E>
constexpr auto table(For<ScatterArguments>) {
  return std::to_array<Rule<E, ScatterArguments>>({
      {"shared", in_a_team, always, on_team<E, ScatterArguments, shared_scatter>},
      {"binomial", always,
       [](auto& s) { return s.wants_trees() && s.ranks > 8 && s.bytes <= 2 * kib; },
       scatter_binomial},
      {"linear", always, always, scatter_linear},
  });
}

template <class E>
constexpr auto table(For<ScattervArguments>) {
  return std::to_array<Rule<E, ScattervArguments>>({
      {"shared", in_a_team, always, on_team_and_by_messages<E, ScattervArguments, shared_scatterv>},
      {"linear", always, always, scatterv_linear},
  });
}

template <class E>
constexpr auto table(For<AllgatherArguments>) {
  return std::to_array<Rule<E, AllgatherArguments>>({
      {"direct", in_a_reading_team, reading_pays, on_team<E, AllgatherArguments, direct_allgather>},
      {"shared", in_a_team, always, on_team<E, AllgatherArguments, shared_allgather>},
      {"linear", always, [](auto& s) { return s.wants_few_rounds(s.bytes * s.ranks, mib); },
       allgather_linear},
      {"recursive_doubling", powers_of_two, [](auto& s) { return s.bytes * s.ranks <= 64 * kib; },
       allgather_recursive_doubling},
      {"bruck", always, [](auto& s) { return s.bytes * s.ranks <= 64 * kib; }, allgather_bruck},
      {"ring", always, always, allgather_ring},
  });
}

template <class E>
constexpr auto table(For<AllgathervArguments>) {
  return std::to_array<Rule<E, AllgathervArguments>>({
      {"shared", in_a_team, always, on_team<E, AllgathervArguments, shared_allgatherv>},
      {"linear", always, [](auto& s) { return s.wants_few_rounds(s.bytes, mib); },
       allgatherv_linear},
      {"ring", always, always, allgatherv_ring},
  });
}

template <class E>
constexpr auto table(For<AlltoallArguments>) {
  return std::to_array<Rule<E, AlltoallArguments>>({
      // One copy of each block instead of two: what counts where their places fill the caches.
      {"direct", in_a_reading_team,
       [](auto& s) { return s.reading_pays || s.bytes * s.ranks * s.ranks >= 64 * mib; },
       on_team<E, AlltoallArguments, direct_alltoall>},
      {"shared", in_a_team, always, on_team<E, AlltoallArguments, shared_alltoall>},
      {"bruck", always, [](auto& s) { return s.bytes <= 256 && s.ranks >= 8; }, alltoall_bruck},
      {"linear", always,
       [](auto& s) { return (s.bytes <= 32 * kib || !s.wants_trees()) && s.ranks <= 64; },
       alltoall_linear},
      {"pairwise", always, always, alltoall_pairwise},
  });
}

template <class E>
constexpr auto table(For<AlltoallvArguments>) {
  return std::to_array<Rule<E, AlltoallvArguments>>({
      {"shared", in_a_team, [](auto& s) { return s.ranks > 2; },
       on_team_and_by_messages<E, AlltoallvArguments, shared_alltoallv>},
      {"linear", always, [](auto& s) { return s.ranks <= 64; }, alltoallv_linear},
      {"pairwise", always, always, alltoallv_pairwise},
  });
}

template <class E>
constexpr auto table(For<AlltoallwArguments>) {
  return std::to_array<Rule<E, AlltoallwArguments>>({
      {"shared", in_a_team, [](auto& s) { return s.ranks > 2; },
       on_team_and_by_messages<E, AlltoallwArguments, shared_alltoallw>},
      {"linear", always, [](auto& s) { return s.ranks <= 64; }, alltoallw_linear},
      {"pairwise", always, always, alltoallw_pairwise},
  });
}

template <class E>
constexpr auto table(For<ReduceArguments>) {
  return std::to_array<Rule<E, ReduceArguments>>({
      // Of more members each combines a share on the board.
      {"direct", in_a_reading_team, [](auto& s) { return s.reading_pays && s.ranks == 2; },
       on_team<E, ReduceArguments, direct_reduce>},
      // As in a broadcast.
      {"shared", in_a_team, [](auto& s) { return s.ranks > 2 || s.bytes < 64 * kib; },
       on_team<E, ReduceArguments, shared_reduce>},
      {"linear", always, [](auto& s) { return s.ranks <= 3 || s.wants_few_messages(s.bytes); },
       reduce_linear},
      {"binomial", always, always, reduce_binomial},
  });
}

template <class E>
constexpr auto table(For<AllreduceArguments>) {
  return std::to_array<Rule<E, AllreduceArguments>>({
      {"shared", in_a_team, always, on_team<E, AllreduceArguments, shared_allreduce>},
      {"linear", always, [](auto& s) { return s.wants_few_rounds(s.bytes, 256 * kib); },
       allreduce_linear},
      {"recursive_doubling", always, [](auto& s) { return s.ranks <= 2 || s.bytes <= 16 * kib; },
       allreduce_recursive_doubling},
      {"ring", commutes,
       [](auto& s) { return !s.is_power_of_two() && s.bytes >= s.ranks * 64 * kib; },
       allreduce_ring},
      {"reduce_bcast", always, never, allreduce_reduce_bcast},
      {"rabenseifner", always, always, allreduce_rabenseifner},
  });
}

template <class E>
constexpr auto table(For<ReduceScatterArguments>) {
  return std::to_array<Rule<E, ReduceScatterArguments>>({
      {"direct", in_a_reading_team, reading_pays,
       on_team<E, ReduceScatterArguments, direct_reduce_scatter>},
      {"shared", in_a_team, always, on_team<E, ReduceScatterArguments, shared_reduce_scatter>},
      {"linear", always, [](auto& s) { return s.wants_few_messages(s.bytes); },
       reduce_scatter_linear},
      {"recursive_halving", commutes, [](auto& s) { return s.bytes <= 256 * kib; },
       reduce_scatter_recursive_halving},
      {"reduce_scatterv", always, [](auto& s) { return s.bytes <= 16 * kib; },
       reduce_scatter_reduce_scatterv},
      {"pairwise", always, always, reduce_scatter_pairwise},
  });
}

template <class E>
constexpr auto table(For<ScanArguments>) {
  return std::to_array<Rule<E, ScanArguments>>({
      {"shared", in_a_team, always, on_team<E, ScanArguments, shared_scan>},
      {"linear", always, [](auto& s) { return s.ranks <= 3 || s.oversubscribed; }, scan_linear},
      {"recursive_doubling", always, always, scan_recursive_doubling},
  });
}

template <class E>
constexpr auto table(For<ExscanArguments>) {
  return std::to_array<Rule<E, ExscanArguments>>({
      {"shared", in_a_team, always, on_team<E, ExscanArguments, shared_exscan>},
      {"linear", always, [](auto& s) { return s.ranks <= 3 || s.oversubscribed; }, exscan_linear},
      {"recursive_doubling", always, always, exscan_recursive_doubling},
  });
}

}  // namespace hawser::collective
