// Direct: writes and reads of reliable connections in the memory of other processes of the host,
// without their doing: no packet, no thread that wakes up.
//
// Keys and queue pairs are published on cards of the shared block. A card that says what it said
// before, looked at during a visit (neighbours.hpp), holds until the visit ends.
//
// Ownership: borrows host, neighbours and ports. Threads: the device's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/neighbours.hpp"
#include "softrdma/link/direct.hpp"
#include "softrdma/link/identity.hpp"

namespace softrdma::fabric {

class Direct final : public link::DirectAccess {
 public:
  struct Counters {
    std::uint64_t copies = 0;
    std::uint64_t bytes = 0;
  };

  /// PORTS: those of the adapter.
  Direct(Host& host, Neighbours& neighbours, std::span<const link::PortIdentity> ports)
      : host_(host), neighbours_(neighbours), ports_(ports) {}

  void publish(std::uint32_t key, const memory::Region& region) override;
  void withdraw(std::uint32_t key) override;
  void open(const qp::PeerAccess& access, const ibv_ah_attr& address) override;
  void close(std::uint32_t queue_pair) override;
  bool copy(const qp::DirectCopy& what, std::uint32_t from, const qp::Destination& to,
            std::uint64_t now_ns) override;
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  [[nodiscard]] std::uint64_t own_cookie() const {
    return host_.seat_memory(host_.seat()).cookie.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint16_t seat, const qp::DirectCopy& what,
                                                  std::uint32_t from, std::uint32_t to) const;
  bool copy_at(std::uint16_t seat, std::uint64_t address, const qp::DirectCopy& what);

  Host& host_;
  Neighbours& neighbours_;
  std::span<const link::PortIdentity> ports_;
  Counters counters_;
};

}  // namespace softrdma::fabric
