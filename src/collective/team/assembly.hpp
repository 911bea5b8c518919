// Assembly: how the members of a communicator on one host come to share a board.
//
//   leader (rank 0)                      member
//   makes the file, listens
//   offer: name of the socket  ───────►  connects, says who it is (one packet, below)
//                              ◄───────  connected?
//   accepts, checks all packets,
//   sends the file to each (socket)
//   handed over?               ───────►  takes and checks the file, maps it
//                              ◄───────  mapped?
//   all have it?               ───────►  all have a team, or none
//
// Arrows are messages of the collective call in which it happens, so that nobody ever waits at a
// socket. The kernel vouches for both ends (SO_PEERCRED), and the packet shows the job's key.
//
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------------------------------------------------------+
//   | magic "HWSTEAM1" (64 bit, little-endian as all that follows)  |
//   |                                                               |
//   +---------------------------------------------------------------+
//   | version (1)                                                   |
//   +---------------------------------------------------------------+
//   | rank: of the member in the communicator                       |
//   +---------------------------------------------------------------+
//   | comm (128): the communicator's global id                      |
//   +---------------------------------------------------------------+
//   | key (256): the job's key                                      |
//   +---------------------------------------------------------------+
#pragma once

#include <memory>
#include <span>

#include "bootstrap/address_book.hpp"
#include "collective/team/team.hpp"

namespace hawser::collective {

struct TeamPacket {
  static constexpr std::uint64_t magic_value = 0x314d414554535748ULL;  // "HWSTEAM1"
  static constexpr std::uint32_t version_value = 1;

  std::uint64_t magic = magic_value;
  std::uint32_t version = version_value;
  std::uint32_t rank = 0;
  core::GlobalId comm{};
  std::byte key[32] = {};
};
static_assert(sizeof(TeamPacket) == 64);

/// What a process brings into its teams.
struct TeamHost {
  const bootstrap::Bootstrap* bootstrap;    // who else is on this host, and the job's key
  std::span<hostmem::WakeWord> wake_words;  // of all local processes
  hostmem::FencePayer fence_payer;
  bool reads_memory;  // it lets others read its memory, and reads theirs
};

struct TeamPlan {
  p2p::Engine& engine;
  memory::Ledger& ledger;
  const TeamHost& host;
  core::Comm& comm;  // all its members are on this host
  int tag;           // of the collective call
  hostmem::BoardShape shape;
  std::int64_t earned_after;         // see Team::Ground
  std::atomic<std::int64_t>& teams;  // of this process; with this one
  bool willing;                      // this member has room for it
};

/// Called by all members. Null on all of them if one is not willing or something failed on the way.
std::unique_ptr<Team> assemble(const TeamPlan& plan);

}  // namespace hawser::collective
