// Settings: the plain settings of every component of a process, and their names as parameters.
//
// Ownership: a member of the Process; components get references to their part.
#pragma once

#include <string>

#include "base/parameters.hpp"
#include "channel/endpoint/assurance.hpp"
#include "channel/policy/policy.hpp"
#include "collective/arguments.hpp"
#include "collective/team/teams.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "transport/shm/settings.hpp"
#include "transport/tcp/settings.hpp"
#include "transport/verbs/settings.hpp"

namespace hawser::session {

/// How a process waits, and who moves its messages on meanwhile ("wait.*", DESIGN §6).
struct WaitSettings {
  std::string progress = "polling";  // or "blocking", "thread", "two_threads"
  std::int64_t spin_us = 1000;       // polling before sleeping, where each local rank has a core
  std::int64_t brief_spin_us = 3;    // of polling where ranks share cores, if it pays, before
  std::int64_t yields = 20;          // turns given to others before sleeping,
  std::int64_t yield_us = 100;       // and at least this long after those
  bool spread = true;                // to less crowded cores, while turns are given
  bool sleeper_fences = true;        // where cores are free; see hostmem/wake.hpp

  [[nodiscard]] int progress_threads() const {
    return progress == "thread" ? 1 : progress == "two_threads" ? 2 : 0;
  }
  /// Threads of a rank that are busy at a time, if it computes while messages move.
  [[nodiscard]] std::uint32_t busy_threads() const { return progress_threads() > 0 ? 2 : 1; }
};

struct Settings {
  std::string bootstrap = "auto";     // see bootstrap_choice.hpp
  std::string transport = "shm,tcp";  // names of transports, in order of preference
  transport::shm::Settings shm;
  transport::tcp::Settings tcp;
  transport::verbs::Settings verbs;
  channel::PolicySettings channel;
  channel::AssuranceSettings delivery;
  p2p::ProtocolSettings p2p;
  WaitSettings wait;
  collective::Tuning collective;
  collective::TeamSettings teams;
  std::string stats_file;  // the parameter "stats"; empty: no statistics
};

/// Registers all parameters there are; SETTINGS must outlive the registry.
void register_all_parameters(base::ParameterRegistry& registry, Settings& settings);

}  // namespace hawser::session
