// DedicatedSlots: the slots of every kind of channel that is earned: of those that this process
// asks peers for, and of those that it grants. A mutual channel takes one slot whoever asked for
// it.
//
// Ownership: borrows endpoints, as Slots. Threads: the lane lock.
#pragma once

#include <array>
#include <limits>

#include "channel/policy/policy.hpp"
#include "channel/policy/slots.hpp"

namespace hawser::channel {

class Endpoint;

class DedicatedSlots {
 public:
  explicit DedicatedSlots(const PolicySettings& settings)
      : kinds_{{{settings.rings_asked_max, settings.rings_granted_max},
                {settings.connects_at_start() ? no_limit : settings.connections_max, 0},
                {settings.fast_paths_max, settings.fast_paths_max}}} {}

  /// KIND: one of transport::earned_kinds.
  [[nodiscard]] Slots<Endpoint>& asked(ChannelKind kind) { return of(kind).asked; }
  [[nodiscard]] const Slots<Endpoint>& asked(ChannelKind kind) const { return of(kind).asked; }
  [[nodiscard]] Slots<Endpoint>& granted(ChannelKind kind) {
    return transport::is_mutual(kind) ? of(kind).asked : of(kind).granted;
  }

 private:
  struct Sides {
    Sides(std::int64_t asked_max, std::int64_t granted_max)
        : asked(asked_max), granted(granted_max) {}
    Slots<Endpoint> asked;
    Slots<Endpoint> granted;
  };
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] const Sides& of(ChannelKind kind) const {
    return kinds_.at(transport::earned_index(kind));
  }
  [[nodiscard]] Sides& of(ChannelKind kind) { return kinds_.at(transport::earned_index(kind)); }

  std::array<Sides, transport::earned_kinds.size()> kinds_;
};

}  // namespace hawser::channel
