// What makes a simulation worth running: it repeats itself, and it finds what is wrong.
#include "sim/simulation.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/leaks.hpp"

namespace hawser::sim {
namespace {

/// As simulate(), for a job that will break off: operations in flight then have references that
/// nothing is left to give back.
Outcome simulate_failure(const Plan& plan) {
  const ExpectedLeaks leaks;
  return simulate(plan);
}

/// As where nobody asks for more than the network needs, or looks after others.
void keep_quiet(session::Settings& settings) {
  settings.delivery.crc = "off";
  settings.delivery.acknowledged = "needed";
  settings.delivery.watch_ns = 0;
}

TEST(Simulation, OneSeedGivesOneTrace) {
  for (const WorkloadEntry& workload : workloads()) {
    for (const std::uint64_t seed : {3U, 4U, 5U}) {
      const Outcome first = simulate({.seed = seed, .workload = &workload});
      const Outcome second = simulate({.seed = seed, .workload = &workload});
      EXPECT_EQ(first.failure, "") << workload.name << " " << seed;
      EXPECT_EQ(first.trace_hash, second.trace_hash) << workload.name << " " << seed;
      EXPECT_EQ(first.events, second.events);
      EXPECT_EQ(first.simulated_ns, second.simulated_ns);
    }
  }
}

TEST(Simulation, SeedsDiffer) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    hashes.insert(simulate({.seed = seed, .workload = find_workload("messages")}).trace_hash);
  EXPECT_EQ(hashes.size(), 20U);
}

TEST(Simulation, ALostFrameIsFound) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto lose_first = [](NetworkSettings& settings) {
      settings.has_datagrams = false;
      settings.lost_frame = 0;
    };
    const Outcome outcome = simulate_failure({.seed = seed,
                                              .workload = find_workload("ring"),
                                              .adjust_network = lose_first,
                                              .adjust_settings = keep_quiet});
    EXPECT_NE(outcome.failure.find("deadlock"), std::string::npos) << seed << outcome.failure;
    EXPECT_NE(outcome.failure.find("rank 0 waits"), std::string::npos) << seed << outcome.failure;
  }
}

TEST(Simulation, ATransportThatWakesNobodyWhenItHasRoomAgainIsFound) {
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 20 && !found; ++seed) {
    const auto forget = [](NetworkSettings& settings) {
      settings.has_datagrams = false;
      settings.forgets_refused = true;
      settings.no_room_one_in = 0;
      settings.queue_slots = 2;
      settings.ring_slots = 2;
    };
    const Outcome outcome = simulate_failure({.seed = seed,
                                              .workload = find_workload("flood"),
                                              .adjust_network = forget,
                                              .adjust_settings = keep_quiet});
    found = outcome.failure.find("deadlock") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

/// Not "messages": who receives from any source goes on waiting for the others.
TEST(Simulation, WhatALostPeerWasToSendOrGetFailsAndNobodyHangs) {
  int lost = 0;
  int harmed = 0;
  for (const char* workload : {"ring", "shifting", "flood", "collectives", "communicators"}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto take_down = [&](NetworkSettings& settings) {
        settings.has_datagrams = false;
        settings.fatal_frame = 7 * seed;
      };
      const Outcome outcome = simulate_failure(
          {.seed = seed, .workload = find_workload(workload), .adjust_network = take_down});
      if (outcome.network.links_lost == 0) continue;  // it had fewer frames
      ++lost;
      harmed += outcome.failure.empty() ? 0 : 1;
      for (const char* hang : {"deadlock", "no end"})
        EXPECT_EQ(outcome.failure.find(hang), std::string::npos)
            << workload << " " << seed << ": " << outcome.failure;
    }
  }
  EXPECT_GT(lost, 25);
  EXPECT_GE(harmed, lost - lost / 8) << "a link that is lost after all was said harms nobody";
}

TEST(Simulation, LostAndRepeatedDatagramsChangeNothing) {
  NetworkProbes network;
  for (const WorkloadEntry& workload : workloads()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto use_datagrams = [&](NetworkSettings& settings) {
        settings.has_datagrams = true;
        settings.datagram_lost_one_in = 4 * seed;
        settings.datagram_repeated_one_in = 3 * seed;
      };
      const Outcome outcome =
          simulate({.seed = seed, .workload = &workload, .adjust_network = use_datagrams});
      EXPECT_EQ(outcome.failure, "") << workload.name << " " << seed;
      network += outcome.network;
    }
  }
  EXPECT_GT(network.datagrams_lost, 500U);
  EXPECT_GT(network.datagrams_repeated, 500U);
  EXPECT_GT(network.datagrams_sent_again, 300U);
}

/// The first rail of everybody, one after the other; the others are there.
TEST(Simulation, WhatAFailedPortWasToCarryGoesOnByAnotherRail) {
  NetworkProbes network;
  for (const bool is_told : {false, true})
    for (const WorkloadEntry& workload : workloads())
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const auto fail_ports = [&](NetworkSettings& settings) {
          settings.has_datagrams = true;
          settings.rails = 2;
          settings.port_failures.clear();
          for (std::uint32_t process = 0; process < 3; ++process)
            settings.port_failures.push_back({.process = process,
                                              .rail = 0,
                                              .at_ns = 20'000 * (seed + process),
                                              .for_ns = 30'000'000,
                                              .is_told = is_told});
        };
        const Outcome outcome = simulate(
            {.seed = seed, .workload = &workload, .ranks = 4, .adjust_network = fail_ports});
        EXPECT_EQ(outcome.failure, "") << workload.name << " " << seed;
        network += outcome.network;
      }
  EXPECT_GT(network.ports_failed, 20U);
  EXPECT_GT(network.ports_failed_silently, 20U);
  EXPECT_GT(network.lost_at_ports, 100U);
  EXPECT_GT(network.copied_to_rails, 20U);
  EXPECT_GT(network.frames_by_rails, 1000U);
}

TEST(Simulation, WhatArrivesDamagedIsSentAgain) {
  NetworkProbes network;
  for (const WorkloadEntry& workload : workloads()) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto choose_channels = [&](NetworkSettings& settings) {
        settings.has_datagrams = seed % 2 == 0;
      };
      const auto flip_bits = [&](session::Settings& settings) {
        settings.delivery.crc = "on";
        settings.delivery.flip_one_in = 1 + seed;
      };
      const Outcome outcome = simulate({.seed = seed,
                                        .workload = &workload,
                                        .adjust_network = choose_channels,
                                        .adjust_settings = flip_bits});
      EXPECT_EQ(outcome.failure, "") << workload.name << " " << seed;
      network += outcome.network;
    }
  }
  EXPECT_GT(network.failed_checksum, 1000U);
  EXPECT_GT(network.copies_kept, 50U);
}

/// A lost frame is no other than a damaged one, once it is kept.
TEST(Simulation, AChannelThatIsAcknowledgedMayLoseAFrame) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto lose_first = [](NetworkSettings& settings) {
      settings.has_datagrams = false;
      settings.lost_frame = 0;
    };
    const auto acknowledge_all = [](session::Settings& settings) {
      settings.delivery.crc = "off";
      settings.delivery.acknowledged = "on";
    };
    EXPECT_EQ(simulate({.seed = seed,
                        .workload = find_workload("ring"),
                        .adjust_network = lose_first,
                        .adjust_settings = acknowledge_all})
                  .failure,
              "")
        << seed;
  }
}

TEST(Simulation, GetsToWhatHappensSeldom) {
  NetworkProbes network;
  ProcessProbes processes;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Outcome outcome = simulate({.seed = seed, .workload = find_workload("messages")});
    ASSERT_EQ(outcome.failure, "");
    network += outcome.network;
    processes.unexpected += outcome.processes.unexpected;
    for (std::size_t i = 0; i < processes.sends.size(); ++i)
      processes.sends[i] += outcome.processes.sends[i];
    for (std::size_t i = 0; i < processes.fetches.size(); ++i)
      processes.fetches[i] += outcome.processes.fetches[i];
  }
  EXPECT_GT(network.overtakes, 100U);
  EXPECT_GT(network.crossed_connects, 500U);
  EXPECT_GT(network.rings_granted, 200U);
  EXPECT_GT(network.rings_refused, 50U);
  EXPECT_GT(network.copies, 1000U);
  EXPECT_GT(network.copies_refused, 50U);
  EXPECT_GT(network.full, 1000U);
  EXPECT_GT(processes.unexpected, 50U);
  for (const std::uint64_t sends : processes.sends) EXPECT_GT(sends, 50U);
  for (const p2p::FetchEntry& entry : p2p::fetch_protocols) {
    const std::uint64_t fetches = processes.fetches[static_cast<std::size_t>(entry.protocol)];
    EXPECT_GT(fetches, 5U) << entry.name;
  }
}

/// Of seeds alone few have rings, copies, and nothing that is checked.
TEST(Simulation, LongMessagesAreCopiedJointly) {
  NetworkProbes network;
  std::uint64_t joint_copies = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto have_copies = [](NetworkSettings& settings) {
      settings.has_datagrams = false;
      settings.single_copy_one_in = 1;
      settings.joint_copy_one_in = 1;
    };
    const auto use_copies = [](session::Settings& settings) {
      keep_quiet(settings);
      settings.channel.send_rules =
          "one_copy_pays and size >= 256 -> single_copy; true -> ring; true -> shared_queue";
      settings.channel.earn_rules = "messages >= 2 -> ring";
    };
    const Outcome outcome = simulate({.seed = seed,
                                      .workload = find_workload("transfers"),
                                      .ranks = 4,
                                      .adjust_network = have_copies,
                                      .adjust_settings = use_copies});
    ASSERT_EQ(outcome.failure, "") << seed;
    network += outcome.network;
    joint_copies +=
        outcome.processes.fetches[static_cast<std::size_t>(p2p::FetchProtocol::joint_copy)];
  }
  EXPECT_GT(joint_copies, 1000U);
  EXPECT_GT(network.joint_reads, 1000U);
  EXPECT_GT(network.joint_writes, 1000U);
  EXPECT_GT(network.joint_copies_refused, 50U);
  EXPECT_GT(network.joint_parts_withdrawn, 100U);
  EXPECT_GT(network.joint_parts_too_late, 5U);
}

TEST(Simulation, IdleRingsAreGivenBackToThoseWhoTalk) {
  NetworkProbes network;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome outcome =
        simulate({.seed = seed, .workload = find_workload("shifting"), .ranks = 4});
    ASSERT_EQ(outcome.failure, "");
    network += outcome.network;
  }
  EXPECT_GT(network.rings_given_back, 50U);
  EXPECT_GT(network.rings_recalled, 10U);
  EXPECT_GT(network.taken_early, 100U);
}

TEST(Simulation, WhatABrokenConnectionCarriedIsSentAgain) {
  NetworkProbes network;
  for (const WorkloadEntry& workload : workloads()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto break_often = [&](NetworkSettings& settings) {
        settings.has_datagrams = true;
        settings.connection_broken_one_in = 3 * seed;
      };
      const Outcome outcome =
          simulate({.seed = seed, .workload = &workload, .adjust_network = break_often});
      EXPECT_EQ(outcome.failure, "") << workload.name << " " << seed;
      network += outcome.network;
    }
  }
  EXPECT_GT(network.connections_broken, 500U);
  EXPECT_GT(network.connected_frames_lost, 500U);
  EXPECT_GT(network.frames_rescued, 500U);
}

TEST(Simulation, ConnectionsAndFastPathsComeAndGo) {
  NetworkProbes network;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto use_datagrams = [](NetworkSettings& settings) { settings.has_datagrams = true; };
    const Outcome outcome = simulate({.seed = seed,
                                      .workload = find_workload("shifting"),
                                      .ranks = 4,
                                      .adjust_network = use_datagrams});
    ASSERT_EQ(outcome.failure, "") << seed;
    network += outcome.network;
  }
  EXPECT_GT(network.connections_made, 500U);
  EXPECT_GT(network.connections_refused, 20U);
  EXPECT_GT(network.connections_given_back, 20U);
  EXPECT_GT(network.crossed_questions, 10U);
  EXPECT_GT(network.fast_paths_granted, 200U);
  EXPECT_GT(network.fast_paths_refused, 20U);
  EXPECT_GT(network.fast_paths_given_back, 100U);
}

/// What the program itself checks: nothing fails but what has to do with the dead.
TEST(Simulation, ADeadRankHarmsOnlyThoseThatTalkToIt) {
  NetworkProbes network;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto kill_one = [&](NetworkSettings& settings) {
      settings.has_datagrams = seed % 2 == 0;
      settings.death = Death{static_cast<std::uint32_t>(seed % 3), 100 * seed * seed};
    };
    const Outcome outcome = simulate({.seed = seed,
                                      .workload = find_workload("survivors"),
                                      .ranks = 3,
                                      .adjust_network = kill_one});
    EXPECT_EQ(outcome.failure, "") << seed;
    network += outcome.network;
  }
  EXPECT_GT(network.deaths, 50U);
  EXPECT_GT(network.deaths_noticed, 50U);
}

/// Receives what rank 0 sends, but checks for something else.
class Wrong final : public Workload {
 public:
  void run(Rank& self) override { self.check(self.rank != 1, "planted in rank {}", self.rank); }
};

TEST(Simulation, AFailedCheckIsReportedWithItsRank) {
  const WorkloadEntry wrong{"wrong", "fails",
                            [](Random&, int, const core::TypeTable&) -> std::unique_ptr<Workload> {
                              return std::make_unique<Wrong>();
                            }};
  EXPECT_EQ(simulate_failure({.seed = 1, .workload = &wrong, .ranks = 3}).failure,
            "rank 1: planted in rank 1");
}

}  // namespace
}  // namespace hawser::sim
