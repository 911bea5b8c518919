// The way from a device to itself: packets wait in memory until they are polled.
//
// Ownership: of the packets that wait. Threads: the device's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "softrdma/link/identity.hpp"
#include "softrdma/link/link.hpp"

namespace softrdma::link {

class Loop final : public Link {
 public:
  /// PORTS: those of the device, the first of which is port 1.
  explicit Loop(std::vector<PortIdentity> ports) : ports_(std::move(ports)) {}

  [[nodiscard]] std::optional<qp::Path> path_to(const ibv_ah_attr& address,
                                                ibv_mtu mtu) const override;
  [[nodiscard]] bool has_room(const ibv_ah_attr& address) const override;
  void send(const qp::Outgoing& packet, const ibv_ah_attr& address) override;
  bool poll(Sink& sink, std::uint64_t now_ns) override;

 private:
  struct Waiting {
    wire::Headers headers;
    std::vector<std::byte> payload;
    ibv_ah_attr address;
  };

  [[nodiscard]] const PortIdentity* port_of(const ibv_ah_attr& address) const;
  [[nodiscard]] std::array<std::byte, qp::grh_bytes> route_header(const Waiting& waiting) const;

  std::vector<PortIdentity> ports_;
  std::deque<Waiting> waiting_;
};

}  // namespace softrdma::link
