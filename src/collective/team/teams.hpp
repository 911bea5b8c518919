// Teams: which communicators of a process have a board in shared memory (resources follow
// communication: one that is used for collectives earns it).
//
// All members decide alike: by the number of the call, which they count alike, and by asking one
// another whether there is room (assembly.hpp).
//
// Ownership: owned by the Process; a team is kept by its communicator.
// Threads:   any, for different communicators.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "collective/team/assembly.hpp"

namespace hawser::collective {

/// What a user can set ("collective.shared_*").
struct TeamSettings {
  std::int64_t shared_after = 16;       // calls on a communicator that earn a board; 0: none does
  std::int64_t shared_max = 16;         // boards of a process at a time
  std::int64_t shared_bytes = 8 << 20;  // of all members in one step
};

class Teams {
 public:
  static constexpr int members_max = 1024;
  /// On boards of more members than this arrivals are counted, cores or not.
  static constexpr int uncounted_max = 16;

  /// HOST: nothing where processes share no memory (a simulation); then there are no teams.
  Teams(p2p::Engine& engine, memory::Ledger& ledger, const std::optional<TeamHost>& host,
        const TeamSettings& settings)
      : engine_(engine), ledger_(ledger), host_(host), settings_(settings) {}

  /// The team of the intracommunicator COMM, or null. Called by all members, once in each blocking
  /// collective call; TAG is the call's. May assemble the team, which sends messages.
  Team* of(core::Comm& comm, int tag) {
    auto* seat = static_cast<Seat*>(comm.companion());
    if (!comm.is_sound()) [[unlikely]]
      return nullptr;  // members may not agree; messages tell what is wrong
    if (seat != nullptr && seat->team) [[likely]]
      return seat->team.get();
    return host_ ? look_at(comm, tag) : nullptr;
  }

 private:
  /// What this process keeps for a communicator.
  struct Seat : core::Companion {
    std::int64_t calls = 0;  // without a team
    std::unique_ptr<Team> team;
  };
  /// Who was refused asks again after as many calls.
  static constexpr std::int64_t calls_between_attempts = 1024;

  Team* look_at(core::Comm& comm, int tag);
  [[nodiscard]] bool can_be_team(const core::Comm& comm) const;
  std::unique_ptr<Team> earn(core::Comm& comm, int tag);
  [[nodiscard]] hostmem::BoardShape shape_for(int members) const;

  p2p::Engine& engine_;
  memory::Ledger& ledger_;
  const std::optional<TeamHost> host_;
  const TeamSettings settings_;
  std::atomic<std::int64_t> teams_{0};
};

}  // namespace hawser::collective
