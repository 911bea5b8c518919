#include "sim/joint_copies.hpp"

#include <cerrno>

#include "base/assert.hpp"
#include "sim/copy_pieces.hpp"

namespace hawser::sim {

namespace {

/// What the peer is said to have needed for its part.
constexpr std::uint64_t part_ns = 100;

}  // namespace

SimJointCopies::SimJointCopies(Network& network, std::uint32_t self, std::uint32_t peer)
    : network_(network),
      self_(self),
      peer_(peer),
      incoming_(network.joint_claims().of(peer, self)),
      outgoing_(network.joint_claims().of(self, peer)) {}

void SimJointCopies::set_incoming(bool has_ring) {
  // A sender keeps the ring as long as the peer may have claims in it.
  HAWSER_ASSERT(has_ring || incoming_.open.empty() || incoming_.is_over);
  has_incoming_ = has_ring;
}

void SimJointCopies::maybe_pause() {
  network_.scheduler().maybe_pause(network_.settings().preempted_one_in);
}

bool SimJointCopies::is_refused() {
  if (!network_.random().one_in(network_.settings().single_copy_refused_one_in)) return false;
  ++network_.probes().joint_copies_refused;
  network_.scheduler().note("{} is refused a part of a joint copy with {}", self_, peer_);
  return true;
}

bool SimJointCopies::do_pay(std::size_t /*bytes*/) {
  return has_incoming_ && !is_given_up_ &&
         network_.random().one_in(network_.settings().joint_copy_one_in);
}

std::optional<SimJointCopies::JointClaim> SimJointCopies::give_claim() {
  if (!has_incoming_ || incoming_.open.size() >= network_.settings().joint_claims_max)
    return std::nullopt;
  incoming_.open.insert(++last_claim_);
  return last_claim_;
}

/// As shared memory has it: each side says first what it does, and looks at the other's then.
bool SimJointCopies::withdraw(JointClaim claim) {
  HAWSER_ASSERT(incoming_.open.contains(claim) && incoming_.withdrawn.insert(claim).second);
  maybe_pause();
  const bool is_ours = !incoming_.taken.contains(claim);
  if (is_ours) incoming_.won_back.insert(claim);
  ++(is_ours ? network_.probes().joint_parts_withdrawn : network_.probes().joint_parts_too_late);
  return is_ours;
}

bool SimJointCopies::take(JointClaim claim) {
  if (!has_outgoing_) return false;
  maybe_pause();
  outgoing_.taken.insert(claim);
  maybe_pause();
  return !outgoing_.withdrawn.contains(claim);
}

void SimJointCopies::close(JointClaim claim) { HAWSER_ASSERT(incoming_.open.erase(claim) == 1); }

std::int64_t SimJointCopies::get(Pieces local, Pieces remote) {
  maybe_pause();
  if (network_.is_dead(peer_) || incoming_.is_over) return -ESRCH;
  if (is_refused()) return -EPERM;
  ++network_.probes().joint_reads;
  return copy_some(network_.random(), local, remote);
}

std::int64_t SimJointCopies::put(Pieces local, Pieces remote, std::uint64_t* ns) {
  maybe_pause();
  *ns = part_ns;
  if (network_.is_dead(peer_) || outgoing_.is_over) return -ESRCH;
  HAWSER_ASSERT(outgoing_.is_any_to_be_written());
  if (is_refused()) return -EPERM;
  ++network_.probes().joint_writes;
  return copy_some(network_.random(), remote, local);
}

bool SimJointCopies::wants_time(std::size_t /*bytes*/) { return network_.random().one_in(2); }

void SimJointCopies::took(std::size_t bytes, std::uint64_t ns) {
  HAWSER_ASSERT(bytes > 0 && ns > 0);
}

bool SimJointCopies::is_asked_for(std::size_t /*bytes*/) {
  return has_outgoing_ && network_.random().one_in(2);
}

}  // namespace hawser::sim
