// Slots: the dedicated channels of one kind that a process may have on one side, and the peers that
// hold them (DESIGN §5: idle channels are torn down, least recently used first, when a limit asks
// for room).
//
// Who finds no slot is turned away. After as many were turned away as there are peers, it sweeps:
// a holder whose activity has not changed for a whole sweep is idle. So a peer that is merely slow
// among many is not taken for idle, and a process whose slots suffice never sweeps.
// Ownership: borrows peers; they let go before they end. Threads: the lane lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.hpp"

namespace hawser::channel {

template <class Peer>
class Slots {
 public:
  explicit Slots(std::int64_t slots_max) : slots_max_(slots_max) {}

  /// Takes a slot before it is known whether the channel comes about; false: there is none.
  bool reserve() {
    if (taken_ >= slots_max_) return false;
    ++taken_;
    return true;
  }
  /// Gives a reserved slot back that nobody came to hold.
  void release() {
    HAWSER_ASSERT(taken_ > 0);
    --taken_;
  }
  /// PEER holds a reserved slot from now on.
  void hold(Peer& peer) {
    holders_.push_back({&peer, std::nullopt, 0});
    ++counts_.opened;
    counts_.most = std::max<std::uint64_t>(counts_.most, holders_.size());
  }
  [[nodiscard]] bool is_held_by(const Peer& peer) const {
    return std::any_of(holders_.begin(), holders_.end(),
                       [&](const Holder& holder) { return holder.peer == &peer; });
  }
  /// PEER, if it holds a slot, holds it no more.
  void let_go(const Peer& peer) {
    if (std::erase_if(holders_, [&](const Holder& holder) { return holder.peer == &peer; }) != 0)
      release();
  }

  /// One of PEERS peers was turned away: the holder that has been idle longest, if this was the
  /// time for a sweep and there is an idle one. ACTIVITY_OF(const Peer&): a count that grows
  /// whenever its channel is used.
  template <class Activity>
  Peer* turn_away(std::size_t peers, Activity&& activity_of) {
    if (++turned_away_ < peers) return nullptr;
    turned_away_ = 0;
    const Candidate found = sweep(activity_of);
    return found.idle_sweeps > 0 ? found.peer : nullptr;
  }

  /// Who is to go first.
  struct Candidate {
    Peer* peer = nullptr;           // null: nobody holds a slot
    std::uint32_t idle_sweeps = 0;  // in a row that found the same activity
    std::uint64_t used = 0;         // by how much its activity has grown since the last sweep
    [[nodiscard]] bool goes_before(const Candidate& other) const {
      if (peer == nullptr || other.peer == nullptr) return peer != nullptr;
      return idle_sweeps != other.idle_sweeps ? idle_sweeps > other.idle_sweeps : used < other.used;
    }
  };
  /// Looks at all holders: who has been idle longest, or was used least if nobody is idle.
  template <class Activity>
  Candidate sweep(Activity&& activity_of) {
    Candidate first;
    for (Holder& holder : holders_) {
      const std::uint64_t now = activity_of(*holder.peer);
      const std::uint64_t used = now - holder.activity.value_or(0);
      holder.idle_sweeps = holder.activity == now ? holder.idle_sweeps + 1 : 0;
      holder.activity = now;
      const Candidate candidate{holder.peer, holder.idle_sweeps, used};
      if (candidate.goes_before(first)) first = candidate;
    }
    return first;
  }

  /// There can't be more than are taken now.
  void close() { slots_max_ = std::min(slots_max_, taken_); }

  [[nodiscard]] std::int64_t taken() const { return taken_; }
  /// How many peers hold one now, held one at a time at most, and came to hold one so far.
  struct Counts {
    std::uint64_t now = 0;
    std::uint64_t most = 0;
    std::uint64_t opened = 0;
  };
  [[nodiscard]] Counts counts() const {
    Counts counts = counts_;
    counts.now = holders_.size();
    return counts;
  }

 private:
  struct Holder {
    Peer* peer;
    std::optional<std::uint64_t> activity;  // at the last sweep, if it was held then
    std::uint32_t idle_sweeps;              // in a row that found the same activity
  };

  std::int64_t slots_max_;
  std::int64_t taken_ = 0;
  std::size_t turned_away_ = 0;  // since the last sweep
  std::vector<Holder> holders_;
  Counts counts_;
};

}  // namespace hawser::channel
