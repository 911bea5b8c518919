#include "transport/shm/joint_copies.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "platform/clock.hpp"
#include "platform/process.hpp"
#include "transport/shm/read_timed.hpp"

namespace hawser::transport::shm {

using hostmem::JointCopyChoice;

void ShmJointCopies::publish() {
  if (incoming_ == nullptr) return;
  constexpr std::size_t longest = std::numeric_limits<std::uint32_t>::max();
  const std::size_t from_bytes = is_given_up_ ? 0 : choice_.asked_from_bytes();
  const Said now{static_cast<std::uint32_t>(std::min(from_bytes, longest)), choice_.trial_word()};
  if (now == said_) return;
  said_ = now;
  incoming_->trial.store(now.trial, std::memory_order_relaxed);
  incoming_->asked_from_bytes.store(now.asked_from_bytes, std::memory_order_relaxed);
}

void ShmJointCopies::came_by_frames(std::size_t bytes, std::size_t message_bytes) {
  if (bytes < JointCopyChoice::run_bytes_min) return;
  choice_.came_by_frames(bytes, message_bytes);
  publish();
}

bool ShmJointCopies::do_pay(std::size_t bytes) {
  if (incoming_ == nullptr || is_given_up_) return false;
  const bool is_joint = choice_.next(bytes);
  publish();
  return is_joint;
}

void ShmJointCopies::put_off_trial() {
  choice_.put_off_trial();
  publish();
}

std::optional<JointClaim> ShmJointCopies::give_claim() {
  return incoming_ != nullptr ? claims_.give(*incoming_) : std::nullopt;
}

bool ShmJointCopies::withdraw(JointClaim claim) {
  return incoming_ != nullptr && hostmem::JointClaims::withdraw(*incoming_, claim);
}

bool ShmJointCopies::is_peer_at_work() const {
  return incoming_ != nullptr && claims_.is_any_taken(*incoming_);
}

std::int64_t ShmJointCopies::get(Pieces local, Pieces remote) {
  return read_timed(
      pid_, local, remote,
      [&](std::size_t bytes) {
        return bytes >= run_bytes_min && choice_.wants_time(Copy::by_kernel);
      },
      [&](std::size_t bytes, std::uint64_t ns) { choice_.took(Copy::by_kernel, bytes, ns); });
}

bool ShmJointCopies::wants_time(std::size_t bytes) {
  return bytes >= run_bytes_min && choice_.wants_time(Copy::by_peer);
}

void ShmJointCopies::took(std::size_t bytes, std::uint64_t ns) {
  choice_.took(Copy::by_peer, bytes, ns);
}

void ShmJointCopies::give_up() {
  is_given_up_ = true;
  publish();
}

/// The peer may try the other way now: then we do, too, for what comes from it.
bool ShmJointCopies::is_asked_for(std::size_t bytes) {
  if (outgoing_ == nullptr) return false;
  const hostmem::OneCopyWord trial = outgoing_->trial.load(std::memory_order_relaxed);
  if (trial != trial_seen_) {
    trial_seen_ = trial;
    choice_.join_trial((trial & 1) != 0);
    publish();
  }
  const std::uint32_t from_bytes = outgoing_->asked_from_bytes.load(std::memory_order_relaxed);
  return from_bytes != 0 && bytes >= from_bytes;
}

bool ShmJointCopies::take(JointClaim claim) {
  return outgoing_ != nullptr && hostmem::joint_claims::take(*outgoing_, claim);
}

bool ShmJointCopies::is_peer_there(std::uint64_t now_ns) {
  if (seen_ns_ != 0 && now_ns - seen_ns_ < alive_ns) return true;
  if (start_time_ == 0 || platform::start_time(pid_) != start_time_) return false;
  seen_ns_ = now_ns;
  return true;
}

std::int64_t ShmJointCopies::put(Pieces local, Pieces remote, std::uint64_t* ns) {
  const std::uint64_t began_ns = platform::monotonic_ns();
  if (!is_peer_there(began_ns)) return -ESRCH;
  const std::int64_t copied = platform::write_memory(pid_, local, remote);
  *ns = platform::monotonic_ns() - began_ns;
  return copied;
}

}  // namespace hawser::transport::shm
