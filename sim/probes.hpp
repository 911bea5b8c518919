// NetworkProbes: how often what happens seldom did, in one simulation or in many. A simulation that
// never gets there proves nothing about it.
//
// Ownership: values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hawser::sim {

struct NetworkProbes {
  std::uint64_t overtakes = 0;  // frames that will arrive before one that was sent earlier
  std::uint64_t crossed_connects = 0;
  std::uint64_t rings_granted = 0;
  std::uint64_t rings_refused = 0;
  std::uint64_t rings_given_back = 0;
  std::uint64_t rings_recalled = 0;
  std::uint64_t copies = 0;
  std::uint64_t copies_refused = 0;
  std::uint64_t side_copies = 0;  // of them by a second network
  std::uint64_t joint_reads = 0;  // calls that copied some of parts of joint copies
  std::uint64_t joint_writes = 0;
  std::uint64_t joint_copies_refused = 0;
  std::uint64_t joint_parts_withdrawn = 0;  // that their sender did not copy
  std::uint64_t joint_parts_too_late = 0;   // to be withdrawn
  std::uint64_t full = 0;                   // reservations that found no room
  std::uint64_t taken_early = 0;            // frames that a receive took past progress
  std::uint64_t datagrams_lost = 0;
  std::uint64_t datagrams_repeated = 0;
  std::uint64_t datagrams_sent_again = 0;
  std::uint64_t connections_made = 0;     // both sides count
  std::uint64_t connections_refused = 0;  // by a peer that has too many
  std::uint64_t crossed_questions = 0;    // for a connection, by both at once
  std::uint64_t connections_given_back = 0;
  std::uint64_t connections_broken = 0;
  std::uint64_t connected_frames_lost = 0;  // with the connection
  std::uint64_t frames_rescued = 0;         // that left by a connection, sent again by datagrams
  std::uint64_t operations_done = 0;
  std::uint64_t operations_cut = 0;      // by a break, in the middle
  std::uint64_t operations_failed = 0;   // as far as who started them knows
  std::uint64_t operations_stopped = 0;  // by a receiver that breaks its connection
  std::uint64_t frames_voided = 0;       // behind an operation that failed
  std::uint64_t holds_refused = 0;
  std::uint64_t fast_paths_granted = 0;
  std::uint64_t fast_paths_refused = 0;  // or the connection ended first
  std::uint64_t fast_paths_given_back = 0;
  std::uint64_t fast_paths_recalled = 0;
  std::uint64_t failed_checksum = 0;  // frames and payload; those of the living
  std::uint64_t copies_kept = 0;      // processes that kept frames which their channels did not
  std::uint64_t crossings = 0;        // messages without copies that came as a whole
  std::uint64_t crossings_refused = 0;
  std::uint64_t crossings_failed = 0;       // something of them was lost, or late
  std::uint64_t rails_joined = 0;           // links by another rail than the first
  std::uint64_t ports_failed = 0;           // and their process was told
  std::uint64_t ports_failed_silently = 0;  // or not
  std::uint64_t ports_failed_for_good = 0;
  std::uint64_t lost_at_ports = 0;    // datagrams
  std::uint64_t copied_to_rails = 0;  // frames that another rail keeps
  std::uint64_t frames_by_rails = 0;  // other than the first
  std::uint64_t deaths = 0;
  std::uint64_t deaths_noticed = 0;  // by a peer
  std::uint64_t links_lost = 0;      // planted

  NetworkProbes& operator+=(const NetworkProbes& other);
};

struct NetworkProbe {
  std::string_view name;
  std::uint64_t NetworkProbes::*count;
};

/// Those that seeds alone lead to.
inline constexpr std::array network_probes = {
    NetworkProbe{"frames overtaken", &NetworkProbes::overtakes},
    NetworkProbe{"connects by both at once", &NetworkProbes::crossed_connects},
    NetworkProbe{"rings granted", &NetworkProbes::rings_granted},
    NetworkProbe{"rings refused", &NetworkProbes::rings_refused},
    NetworkProbe{"rings given back", &NetworkProbes::rings_given_back},
    NetworkProbe{"rings recalled", &NetworkProbes::rings_recalled},
    NetworkProbe{"single copies", &NetworkProbes::copies},
    NetworkProbe{"single copies by a second network", &NetworkProbes::side_copies},
    NetworkProbe{"single copies refused", &NetworkProbes::copies_refused},
    NetworkProbe{"parts of joint copies read", &NetworkProbes::joint_reads},
    NetworkProbe{"parts of joint copies written", &NetworkProbes::joint_writes},
    NetworkProbe{"parts of joint copies refused", &NetworkProbes::joint_copies_refused},
    NetworkProbe{"parts of joint copies withdrawn", &NetworkProbes::joint_parts_withdrawn},
    NetworkProbe{"parts of joint copies withdrawn too late", &NetworkProbes::joint_parts_too_late},
    NetworkProbe{"frames without room", &NetworkProbes::full},
    NetworkProbe{"frames taken past progress", &NetworkProbes::taken_early},
    NetworkProbe{"datagrams lost", &NetworkProbes::datagrams_lost},
    NetworkProbe{"datagrams repeated", &NetworkProbes::datagrams_repeated},
    NetworkProbe{"datagrams sent again", &NetworkProbes::datagrams_sent_again},
    NetworkProbe{"connections made", &NetworkProbes::connections_made},
    NetworkProbe{"connections refused", &NetworkProbes::connections_refused},
    NetworkProbe{"connections asked for by both at once", &NetworkProbes::crossed_questions},
    NetworkProbe{"connections given back", &NetworkProbes::connections_given_back},
    NetworkProbe{"connections broken", &NetworkProbes::connections_broken},
    NetworkProbe{"frames lost with their connection", &NetworkProbes::connected_frames_lost},
    NetworkProbe{"frames sent again after a break", &NetworkProbes::frames_rescued},
    NetworkProbe{"operations done", &NetworkProbes::operations_done},
    NetworkProbe{"operations cut in the middle", &NetworkProbes::operations_cut},
    NetworkProbe{"operations failed", &NetworkProbes::operations_failed},
    NetworkProbe{"operations stopped by the receiver", &NetworkProbes::operations_stopped},
    NetworkProbe{"frames voided behind an operation", &NetworkProbes::frames_voided},
    NetworkProbe{"memory not held", &NetworkProbes::holds_refused},
    NetworkProbe{"fast paths granted", &NetworkProbes::fast_paths_granted},
    NetworkProbe{"fast paths refused", &NetworkProbes::fast_paths_refused},
    NetworkProbe{"fast paths given back", &NetworkProbes::fast_paths_given_back},
    NetworkProbe{"fast paths recalled", &NetworkProbes::fast_paths_recalled},
    NetworkProbe{"frames and payload that failed their checksum", &NetworkProbes::failed_checksum},
    NetworkProbe{"processes that kept copies of frames", &NetworkProbes::copies_kept},
    NetworkProbe{"messages without copies", &NetworkProbes::crossings},
    NetworkProbe{"messages without copies refused", &NetworkProbes::crossings_refused},
    NetworkProbe{"messages without copies given up", &NetworkProbes::crossings_failed},
    NetworkProbe{"links by a further rail", &NetworkProbes::rails_joined},
    NetworkProbe{"frames by a further rail", &NetworkProbes::frames_by_rails},
    NetworkProbe{"ports failed, and their process told", &NetworkProbes::ports_failed},
    NetworkProbe{"ports failed silently", &NetworkProbes::ports_failed_silently},
    NetworkProbe{"ports failed for good", &NetworkProbes::ports_failed_for_good},
    NetworkProbe{"datagrams lost at ports", &NetworkProbes::lost_at_ports},
    NetworkProbe{"frames copied to another rail", &NetworkProbes::copied_to_rails},
    NetworkProbe{"deaths", &NetworkProbes::deaths},
    NetworkProbe{"deaths noticed", &NetworkProbes::deaths_noticed},
};

inline NetworkProbes& NetworkProbes::operator+=(const NetworkProbes& other) {
  for (const NetworkProbe& probe : network_probes) this->*probe.count += other.*probe.count;
  links_lost += other.links_lost;
  return *this;
}

}  // namespace hawser::sim
