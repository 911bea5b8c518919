// SimJointCopies: what a SimLink does of copies that both sides make together. As over shared
// memory, there are none of messages from a peer without a ring from it.
//
// Any copy may be refused or stop half-way, the sender may be away for long before and after it
// takes a claim, and each may see what the other has done.
// Ownership: a part of its link; borrows the network.
// Threads:   one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/network.hpp"
#include "transport/joint_copies.hpp"

namespace hawser::sim {

class SimJointCopies final : public transport::JointCopies {
 public:
  using JointClaim = transport::JointClaim;

  SimJointCopies(Network& network, std::uint32_t self, std::uint32_t peer);

  // For the link.

  /// There is a ring from the peer now, or none any more.
  void set_incoming(bool has_ring);
  void set_outgoing(bool has_ring) { has_outgoing_ = has_ring; }

  [[nodiscard]] bool takes_front() const override { return self_ < peer_; }
  [[nodiscard]] bool do_pay(std::size_t bytes) override;
  void put_off_trial() override {}
  std::optional<JointClaim> give_claim() override;
  bool withdraw(JointClaim claim) override;
  void close(JointClaim claim) override;
  [[nodiscard]] bool is_peer_at_work() const override { return incoming_.is_any_taken(); }
  std::int64_t get(Pieces local, Pieces remote) override;
  [[nodiscard]] bool wants_time(std::size_t bytes) override;
  void took(std::size_t bytes, std::uint64_t ns) override;
  void give_up() override { is_given_up_ = true; }

  [[nodiscard]] bool is_asked_for(std::size_t bytes) override;
  bool take(JointClaim claim) override;
  std::int64_t put(Pieces local, Pieces remote, std::uint64_t* ns) override;

 private:
  void maybe_pause();
  bool is_refused();

  Network& network_;
  const std::uint32_t self_;
  const std::uint32_t peer_;
  JointClaims::Direction& incoming_;  // of messages from the peer
  JointClaims::Direction& outgoing_;
  bool has_incoming_ = false;
  bool has_outgoing_ = false;
  bool is_given_up_ = false;
  JointClaim last_claim_ = 0;
};

}  // namespace hawser::sim
