// Collectives of a team: on a board in shared memory instead of messages. Data longer than the
// board's room goes in rounds of it.
//
// In each function every member takes the same steps; which ones, follows from what all of them
// know. The data of a step is written by the member that shows it and read by those who need it.
// Reductions combine in rank order, so that all members get the same bits; their types are
// contiguous (is_contiguous).
#pragma once

#include "collective/arguments.hpp"
#include "collective/team/team.hpp"

namespace hawser::collective {

Result<void> shared_barrier(Team&, const BarrierArguments&);
Result<void> shared_bcast(Team&, const BcastArguments&);
Result<void> shared_gather(Team&, const GatherArguments&);
Result<void> shared_scatter(Team&, const ScatterArguments&);
Result<void> shared_allgather(Team&, const AllgatherArguments&);
Result<void> shared_allgatherv(Team&, const AllgathervArguments&);
Result<void> shared_alltoall(Team&, const AlltoallArguments&);
Result<void> shared_reduce(Team&, const ReduceArguments&);
Result<void> shared_allreduce(Team&, const AllreduceArguments&);
Result<void> shared_reduce_scatter(Team&, const ReduceScatterArguments&);
Result<void> shared_scan(Team&, const ScanArguments&);
Result<void> shared_exscan(Team&, const ExscanArguments&);

// Of teams that read each other's memory: every member takes what it needs straight out of the
// buffers of the others.
Result<void> direct_bcast(Team&, const BcastArguments&);
Result<void> direct_allgather(Team&, const AllgatherArguments&);
Result<void> direct_alltoall(Team&, const AlltoallArguments&);
/// The root alone combines.
Result<void> direct_reduce(Team&, const ReduceArguments&);
Result<void> direct_reduce_scatter(Team&, const ReduceScatterArguments&);

/// For lengths and indices, which are never negative.
inline std::size_t size_of(Count count) { return static_cast<std::size_t>(count); }

/// What each of COUNT blocks may have of ROOM bytes: whole pages where it is more than one, so that
/// in the next round, too, data stand in their cache lines as they do where they come from.
inline Count share_of(std::size_t room, int count) {
  constexpr Count page_bytes = 4096;
  const Count each = static_cast<Count>(room) / count;
  return each < page_bytes ? each : each - each % page_bytes;
}

/// Blocks that each member shows side by side, one for each of the others. With a gap for its own,
/// which spreads them evenly over a cache's sets (16 KiB among 8 ranks on 2 cores: 23 us instead of
/// 28); but not of two, who write where they have read.
class SideBySide {
 public:
  explicit SideBySide(const Team& team) : has_gaps_(team.size() > 2), count_(team.size()) {}
  /// Blocks and gap in a member's place.
  [[nodiscard]] int count() const { return has_gaps_ ? count_ : 1; }
  /// MEMBER's, with as many before it.
  [[nodiscard]] int number_for(int member) const { return has_gaps_ ? member : 0; }

 private:
  bool has_gaps_;
  int count_;
};

/// Items of TYPE, one after the other, are plain bytes from the buffer's address on.
inline bool is_contiguous(const Datatype& type) {
  return type.is_dense() && type.true_lower_bound() == 0;
}

/// A function of the above as an entry of a selection table.
template <class Executor, class Arguments, Result<void> (*function)(Team&, const Arguments&)>
void on_team(Executor ex, const Arguments& arguments) {
  Result<void> result = function(*ex.team(), arguments);
  if (!result) ex.fail(result.take_error());
}

}  // namespace hawser::collective
