// Rule: one line of a selection table.
//
// Selection must come out equal on all members: a Situation holds only what all of them know.
#pragma once

#include <span>
#include <string_view>

#include "base/ids.hpp"

namespace hawser::collective {

struct Situation {
  /// Of the message (barrier: 0; bcast, reduce, allreduce, scan), of one block (gather, scatter,
  /// allgather, alltoall), of all blocks (allgatherv, reduce_scatter); 0 where members don't know
  /// each other's (gatherv, scatterv, alltoallv, alltoallw).
  base::Count bytes = 0;
  int ranks = 1;
  bool commutative = true;
  /// The members share a board (team/team.hpp), on which this call can be carried out.
  bool in_team = false;
  /// And they read each other's memory.
  bool reads_memory = false;
  /// Which is quicker for this collective, or is to be tried now (team/contest.hpp).
  bool reading_pays = false;
  // Of messages, and not found out for a call on a board:
  /// More ranks than cores: messages and wake-ups cost more than long paths.
  bool oversubscribed = false;
  /// A process pays for each peer that it meets, in memory or with a connection: better a few for
  /// everybody than all for a root.
  bool peers_cost = false;

  [[nodiscard]] bool is_power_of_two() const { return (ranks & (ranks - 1)) == 0; }
  [[nodiscard]] bool wants_trees() const { return !oversubscribed || peers_cost; }
  /// Flat trees are best: each rank but one wakes once.
  [[nodiscard]] bool wants_few_messages(base::Count total_bytes) const {
    return !wants_trees() && total_bytes <= 4096 && ranks <= 256;
  }
  /// The same for a collective in which every rank waits for all: of many ranks each round costs
  /// more turns than the root's copies take time.
  [[nodiscard]] bool wants_few_rounds(base::Count total_bytes, base::Count longest) const {
    return wants_few_messages(total_bytes) ||
           (!wants_trees() && ranks > 4 && total_bytes <= longest && ranks <= 256);
  }
};

using Condition = bool (*)(const Situation&);

inline bool always(const Situation&) { return true; }
inline bool never(const Situation&) { return false; }
inline bool in_a_team(const Situation& s) { return s.in_team; }
inline bool in_a_reading_team(const Situation& s) { return s.in_team && s.reads_memory; }
inline bool reading_pays(const Situation& s) { return s.reading_pays; }
inline bool commutes(const Situation& s) { return s.commutative; }
inline bool powers_of_two(const Situation& s) { return s.is_power_of_two(); }

template <class Executor, class Arguments>
struct Rule {
  std::string_view algorithm;
  Condition correct;  // when the algorithm can do the job
  Condition best;     // when it is chosen, if no rule above was
  void (*run)(Executor, const Arguments&);
};

/// The first rule that is correct and best; the last one of a table always is.
template <class RuleType>
const RuleType* choose(std::span<const RuleType> table, const Situation& situation) {
  for (const RuleType& rule : table)
    if (rule.correct(situation) && rule.best(situation)) return &rule;
  return nullptr;
}

/// The rule named FORCED if it is correct here, else as if none were named. Null if there is no
/// rule of that name.
template <class RuleType>
const RuleType* choose(std::span<const RuleType> table, const Situation& situation,
                       std::string_view forced) {
  if (forced.empty()) [[likely]]
    return choose(table, situation);
  for (const RuleType& rule : table)
    if (rule.algorithm == forced) return rule.correct(situation) ? &rule : choose(table, situation);
  return nullptr;
}

}  // namespace hawser::collective
