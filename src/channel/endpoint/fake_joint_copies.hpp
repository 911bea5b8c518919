// Joint copies of a FakeLink: all memory is that of this one process. What is said and done is
// counted, and a test can refuse each of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "transport/joint_copies.hpp"

namespace hawser::channel {

class FakeJointCopies final : public transport::JointCopies {
 public:
  using JointClaim = transport::JointClaim;
  /// PEER: those of the link at the other end.
  FakeJointCopies(bool takes_front, std::function<FakeJointCopies&()> peer)
      : takes_front_(takes_front), peer_(std::move(peer)) {}

  [[nodiscard]] bool takes_front() const override { return takes_front_; }
  [[nodiscard]] bool do_pay(std::size_t /*bytes*/) override {
    ++asked;
    return pay;
  }
  void put_off_trial() override { ++put_off; }
  std::optional<JointClaim> give_claim() override {
    if (given.size() >= claims_max) return std::nullopt;
    given.insert(++last_claim_);
    return last_claim_;
  }
  bool withdraw(JointClaim claim) override {
    withdrawn.insert(claim);
    return !peer_().taken.contains(claim);
  }
  void close(JointClaim claim) override { EXPECT_EQ(given.erase(claim), 1U); }
  [[nodiscard]] bool is_peer_at_work() const override { return peer_at_work; }
  std::int64_t get(Pieces local, Pieces remote) override {
    ++calls;
    if (got_bytes == 0) first_got = local.front().address;
    return copy(local, remote, gets_left, got_bytes);
  }
  [[nodiscard]] bool wants_time(std::size_t /*bytes*/) override { return is_timing; }
  void took(std::size_t bytes, std::uint64_t ns) override {
    timed_bytes += bytes;
    timed_ns += ns;
  }
  void give_up() override { ++given_up; }

  [[nodiscard]] bool is_asked_for(std::size_t /*bytes*/) override { return asks; }
  bool take(JointClaim claim) override {
    taken.insert(claim);
    return !peer_().withdrawn.contains(claim);
  }
  std::int64_t put(Pieces local, Pieces remote, std::uint64_t* ns) override {
    ++calls;
    *ns = put_ns;
    return copy(remote, local, puts_left, put_bytes);
  }

  static constexpr std::uint64_t put_ns = 7;
  bool pay = false;
  bool asks = false;
  bool peer_at_work = false;
  bool is_timing = false;
  std::size_t claims_max = 3;
  std::size_t gets_left = 1'000'000;  // pieces, before all others are refused
  std::size_t puts_left = 1'000'000;
  int calls = 0;  // of get() and put()
  int asked = 0;
  int put_off = 0;
  int given_up = 0;
  std::set<JointClaim> given;      // and not closed
  std::set<JointClaim> withdrawn;  // ever
  std::set<JointClaim> taken;      // ever, of the peer's
  std::uint64_t first_got = 0;     // an address
  std::size_t got_bytes = 0;
  std::size_t put_bytes = 0;
  std::size_t timed_bytes = 0;
  std::uint64_t timed_ns = 0;

 private:
  /// Piece by piece, until LEFT is 0; BYTES counts.
  static std::int64_t copy(Pieces to, Pieces from, std::size_t& left, std::size_t& bytes) {
    std::int64_t copied = 0;
    for (std::size_t i = 0; i < to.size() && left > 0; ++i, --left) {
      EXPECT_EQ(to[i].bytes, from[i].bytes);
      std::memcpy(reinterpret_cast<void*>(to[i].address),
                  reinterpret_cast<const void*>(from[i].address), to[i].bytes);
      copied += static_cast<std::int64_t>(to[i].bytes);
      bytes += to[i].bytes;
    }
    return copied > 0 ? copied : -1;
  }
  bool takes_front_;
  std::function<FakeJointCopies&()> peer_;
  JointClaim last_claim_ = 0;
};

}  // namespace hawser::channel
