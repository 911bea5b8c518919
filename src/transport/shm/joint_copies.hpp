// ShmJointCopies: what a ShmLink does of copies that both sides make together. The claims on parts
// of the messages of one direction lie in the ring that carries their frames, in its receiver's
// segment; who has no such ring has no such copies.
//
// Ownership: a part of its link. The words outlive their use: see open_incoming().
#pragma once

#include <sys/types.h>

#include "hostmem/joint_claims.hpp"
#include "hostmem/joint_copy_choice.hpp"
#include "transport/joint_copies.hpp"

namespace hawser::transport::shm {

class ShmJointCopies final : public JointCopies {
 public:
  explicit ShmJointCopies(bool takes_front) : takes_front_(takes_front) {}

  // For the link.

  /// The peer's number, and when that process started.
  void attach(pid_t pid, std::uint64_t start_time) {
    pid_ = pid;
    start_time_ = start_time;
  }
  /// Of messages from the peer, while there is a ring from it; null: there is none any more. A
  /// sender does not give a ring back while the peer may have claims in it.
  void open_incoming(hostmem::JointWords* words) {
    incoming_ = words;
    said_ = {};
    publish();
  }
  void open_outgoing(hostmem::JointWords* words) { outgoing_ = words; }
  /// BYTES of a message of MESSAGE_BYTES have come by frames.
  void came_by_frames(std::size_t bytes, std::size_t message_bytes);
  /// Whether it is to be known how long it took to copy them out of there; and how long that was.
  bool wants_time_of_frames() { return choice_.wants_time(Copy::out_of_frame); }
  void frames_took(std::size_t bytes, std::uint64_t ns) {
    choice_.took(Copy::out_of_frame, bytes, ns);
  }

  [[nodiscard]] bool takes_front() const override { return takes_front_; }

  [[nodiscard]] bool do_pay(std::size_t bytes) override;
  void put_off_trial() override;
  std::optional<JointClaim> give_claim() override;
  bool withdraw(JointClaim claim) override;
  void close(JointClaim claim) override { claims_.close(claim); }
  [[nodiscard]] bool is_peer_at_work() const override;
  std::int64_t get(Pieces local, Pieces remote) override;
  [[nodiscard]] bool wants_time(std::size_t bytes) override;
  void took(std::size_t bytes, std::uint64_t ns) override;
  void give_up() override;

  [[nodiscard]] bool is_asked_for(std::size_t bytes) override;
  bool take(JointClaim claim) override;
  std::int64_t put(Pieces local, Pieces remote, std::uint64_t* ns) override;

 private:
  using Copy = hostmem::TimedCopy;
  /// What stands in our words.
  struct Said {
    std::uint32_t asked_from_bytes = 0;
    hostmem::OneCopyWord trial = 0;
    bool operator==(const Said&) const = default;
  };
  /// Shorter runs are not measured: half of the shortest message that may be copied jointly.
  static constexpr std::size_t run_bytes_min = hostmem::JointCopyChoice::run_bytes_min / 2;
  /// For how long a process that was there still has its number: no host begins as many processes
  /// as it has numbers in that time.
  static constexpr std::uint64_t alive_ns = 10'000'000;

  /// Tells the peer of what has changed.
  void publish();
  /// The process that PID named at first is there, and no other one.
  bool is_peer_there(std::uint64_t now_ns);

  pid_t pid_ = 0;
  std::uint64_t start_time_ = 0;
  std::uint64_t seen_ns_ = 0;  // when the peer was known to be there
  bool takes_front_;
  bool is_given_up_ = false;
  hostmem::JointWords* incoming_ = nullptr;
  hostmem::JointWords* outgoing_ = nullptr;
  Said said_;
  std::uint32_t trial_seen_ = 0;  // the peer's
  hostmem::JointClaims claims_;
  hostmem::JointCopyChoice choice_;
};

}  // namespace hawser::transport::shm
