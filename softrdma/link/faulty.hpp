// Faulty: a link that loses, repeats, delays and spoils what another one would carry, from a seed.
//
// Ownership: borrows the other one, which has to copy payloads at once; owns packets that are late.
// Threads: the device's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "softrdma/link/faults.hpp"
#include "softrdma/link/link.hpp"

namespace softrdma::link {

class Faulty final : public Link {
 public:
  Faulty(Link& inner, const Faults& faults, std::uint64_t seed)
      : inner_(inner), faults_(faults), random_(seed) {}

  [[nodiscard]] std::optional<qp::Path> path_to(const ibv_ah_attr& address,
                                                ibv_mtu mtu) const override {
    return inner_.path_to(address, mtu);
  }
  [[nodiscard]] bool has_room(const qp::Destination& destination) override {
    return inner_.has_room(destination);
  }
  void send(const qp::Outgoing& packet, const ibv_ah_attr& address) override;
  void flush() override { inner_.flush(); }
  void flush_payloads() override { inner_.flush_payloads(); }
  [[nodiscard]] bool has_waiting() const override { return inner_.has_waiting(); }
  bool poll(Sink& sink, std::uint64_t now_ns) override;
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const override;
  /// The sender ends, and what it has sent is on its way: early is better than never.
  void send_delayed();
  void withdraw(std::span<const std::byte> memory) override { inner_.withdraw(memory); }
  void withdraw_all() override { inner_.withdraw_all(); }
  bool join(const ibv_gid& gid) override { return inner_.join(gid); }
  void leave(const ibv_gid& gid) override { inner_.leave(gid); }
  void open_management() override { inner_.open_management(); }
  bool pass_on(const qp::Arrival& arrival) override { return inner_.pass_on(arrival); }
  [[nodiscard]] XrcTargets* xrc_targets() override { return inner_.xrc_targets(); }

 private:
  struct Copy {
    wire::Headers headers;
    std::vector<std::byte> payload;
    ibv_ah_attr address;
  };
  struct Delayed {
    Copy copy;
    std::uint64_t delay_ns;
  };

  bool hits(std::uint32_t of_a_million) { return random_() % 1'000'000 < of_a_million; }
  void send_copy(const Copy& copy);
  void send_if_room(const Copy& copy);
  void delay(Copy copy, std::uint64_t delay_ns);

  Link& inner_;
  const Faults faults_;
  std::mt19937_64 random_;
  std::uint64_t now_ns_ = 0;
  std::vector<Delayed> fresh_;               // sent since poll() last said what time it is
  std::multimap<std::uint64_t, Copy> late_;  // by when they go
};

}  // namespace softrdma::link
