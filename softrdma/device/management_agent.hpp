// ManagementAgent: what answers at queue pair 1, that of the general services: datagrams of 256
// bytes, of which the device knows no more than that.
//
// Ownership: the device borrows it. Threads: the device's lock, but for due_ns().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "softrdma/qp/context.hpp"

namespace softrdma::device {

inline constexpr std::size_t management_bytes = 256;
/// Every packet to queue pair 1 has it (InfiniBand Architecture Specification, §10.2.5).
inline constexpr std::uint32_t management_queue_key = 0x80010000;

class ManagementAgent {
 public:
  virtual ~ManagementAgent() = default;
  virtual void on_datagram(std::span<const std::byte, management_bytes> datagram,
                           const qp::Arrival& arrival, std::uint64_t now_ns) = 0;
  /// When act() has something to do; never: the greatest number. Any thread.
  [[nodiscard]] virtual std::uint64_t due_ns() const = 0;
  /// What has to be done now; it may send by Device::send_management().
  virtual void act(std::uint64_t now_ns) = 0;
};

}  // namespace softrdma::device
