// DedicatedSlots: the slots of every kind of channel that is earned: of those that this process
// asks peers for, and of those that it grants. A mutual channel takes one slot whoever asked for
// it.
//
// Beside the number of each kind, the memory that all of them take in this process may have a limit
// (channel.memory_max), as the ledger knows it: rings that were granted, and what connections send
// from and receive into. While it is reached no slot can be had, and where it is passed those least
// recently used have to go, of whatever kind. Where everyone is connected at start there is none.
//
// Ownership: borrows endpoints, as Slots, and the ledger. Threads: the lane lock.
#pragma once

#include <array>
#include <limits>

#include "channel/policy/policy.hpp"
#include "channel/policy/slots.hpp"
#include "memory/ledger/ledger.hpp"

namespace hawser::channel {

class Endpoint;

class DedicatedSlots {
 public:
  DedicatedSlots(const PolicySettings& settings, const memory::Ledger& ledger)
      : ledger_(ledger),
        memory_bytes_max_(settings.memory_max > 0 && !settings.connects_at_start()
                              ? settings.memory_max
                              : no_limit),
        kinds_{{{settings.rings_asked_max, settings.rings_granted_max},
                {settings.connects_at_start() ? no_limit : settings.connections_max, 0},
                {settings.fast_paths_max, settings.fast_paths_max},
                {settings.xrc_peers_max, settings.xrc_peers_max}}} {}

  /// KIND: one of transport::earned_kinds.
  [[nodiscard]] Slots<Endpoint>& asked(ChannelKind kind) { return of(kind).asked; }
  [[nodiscard]] const Slots<Endpoint>& asked(ChannelKind kind) const { return of(kind).asked; }
  [[nodiscard]] Slots<Endpoint>& granted(ChannelKind kind) {
    return transport::is_mutual(kind) ? of(kind).asked : of(kind).granted;
  }
  /// Takes one of SLOTS, unless there is none, or no memory for it.
  [[nodiscard]] bool reserve(Slots<Endpoint>& slots) const {
    return has_memory() && slots.reserve();
  }
  [[nodiscard]] bool has_memory() const { return memory_bytes() < memory_bytes_max_; }

  [[nodiscard]] bool has_memory_limit() const { return memory_bytes_max_ != no_limit; }
  struct Holder {
    Endpoint* endpoint = nullptr;
    ChannelKind kind = ChannelKind::count_;
  };
  /// Of those that cost this process memory, the one that has to go so that they take no more than
  /// they may; nobody if they don't, or one is going. ACTIVITY_OF(const Endpoint&, ChannelKind):
  /// see Slots.
  template <class Activity>
  Holder excess(Activity&& activity_of) {
    Holder first;
    if (going_ != nullptr || memory_bytes() <= memory_bytes_max_) return first;
    Slots<Endpoint>::Candidate candidate;
    for (const ChannelKind kind : transport::earned_kinds) {
      const auto found = granted(kind).sweep(
          [&](const Endpoint& endpoint) { return activity_of(endpoint, kind); });
      if (!found.goes_before(candidate)) continue;
      candidate = found;
      first = {found.peer, kind};
    }
    return first;
  }
  /// The channel of ENDPOINT that had to go was told to.
  void note_going(const Endpoint& endpoint) { going_ = &endpoint; }
  /// A channel of ENDPOINT is gone.
  void note_gone(const Endpoint& endpoint) {
    if (going_ == &endpoint) going_ = nullptr;
  }

 private:
  struct Sides {
    Sides(std::int64_t asked_max, std::int64_t granted_max)
        : asked(asked_max), granted(granted_max) {}
    Slots<Endpoint> asked;
    Slots<Endpoint> granted;
  };
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] std::int64_t memory_bytes() const {
    return ledger_.current_bytes(memory::Account::rings) +
           ledger_.current_bytes(memory::Account::connection_buffers);
  }
  [[nodiscard]] const Sides& of(ChannelKind kind) const {
    return kinds_.at(transport::earned_index(kind));
  }
  [[nodiscard]] Sides& of(ChannelKind kind) { return kinds_.at(transport::earned_index(kind)); }

  const memory::Ledger& ledger_;
  const std::int64_t memory_bytes_max_;
  const Endpoint* going_ = nullptr;  // it was told to; its memory is not free yet
  std::array<Sides, transport::earned_kinds.size()> kinds_;
};

}  // namespace hawser::channel
