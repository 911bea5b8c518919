// JointClaims: what two simulated processes know of the claims on parts of messages that they copy
// jointly (transport/joint_copies.hpp).
//
// Ownership: a part of the Network.
// Threads:   one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "transport/joint_copies.hpp"

namespace hawser::sim {

class JointClaims {
 public:
  using JointClaim = transport::JointClaim;
  /// Of messages of one direction.
  struct Direction {
    std::set<JointClaim> open;  // given, and not closed
    std::set<JointClaim> withdrawn;
    std::set<JointClaim> taken;
    std::set<JointClaim> won_back;  // withdrawn before they were taken
    /// One side takes the other for lost: its memory may be gone.
    bool is_over = false;

    [[nodiscard]] bool is_any_taken() const {
      return std::ranges::any_of(open, [&](JointClaim claim) { return taken.contains(claim); });
    }
    /// Some part is the sender's to write.
    [[nodiscard]] bool is_any_to_be_written() const {
      return std::ranges::any_of(open, [&](JointClaim claim) {
        return taken.contains(claim) && !won_back.contains(claim);
      });
    }
  };

  Direction& of(std::uint32_t from, std::uint32_t to) { return directions_[{from, to}]; }
  /// Of two ports that are lost to each other.
  void end(std::uint32_t port, std::uint32_t peer) {
    of(port, peer).is_over = true;
    of(peer, port).is_over = true;
  }

 private:
  std::map<std::array<std::uint32_t, 2>, Direction> directions_;
};

}  // namespace hawser::sim
