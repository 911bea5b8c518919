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
  std::int64_t get(std::uint64_t local, std::uint64_t remote, std::size_t bytes) override {
    if (gets_left == 0) return -1;
    --gets_left;
    if (got_bytes == 0) first_got = local;
    got_bytes += bytes;
    return copy(local, remote, bytes);
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
  std::int64_t put(std::uint64_t local, std::uint64_t remote, std::size_t bytes,
                   std::uint64_t* ns) override {
    if (puts_left == 0) return -1;
    --puts_left;
    if (ns != nullptr) *ns += put_ns;
    put_bytes += bytes;
    return copy(remote, local, bytes);
  }

  static constexpr std::uint64_t put_ns = 7;
  bool pay = false;
  bool asks = false;
  bool peer_at_work = false;
  bool is_timing = false;
  std::size_t claims_max = 3;
  std::size_t gets_left = 1'000'000;  // before all others are refused
  std::size_t puts_left = 1'000'000;
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
  static std::int64_t copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return static_cast<std::int64_t>(bytes);
  }
  bool takes_front_;
  std::function<FakeJointCopies&()> peer_;
  JointClaim last_claim_ = 0;
};

}  // namespace hawser::channel
