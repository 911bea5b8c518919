// XrcTargets: the XRC target queue pairs of a host, which any of its processes may have open
// (InfiniBand Architecture Specification, annex A14). One lives as long as somebody has it, whoever
// made it.
//
// Its state is nobody's: a process takes it for a turn, does what a packet asks for, and puts it
// back. Threads: the device's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "softrdma/qp/target_state.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::link {

class XrcTargets {
 public:
  virtual ~XrcTargets() = default;
  /// Queue pair NUMBER, one of ours, may be opened by whoever has XRC_DOMAIN. False: there are too
  /// many.
  virtual bool add(std::uint32_t number, std::uint32_t xrc_domain) = 0;
  /// We have it open, too. False if XRC_DOMAIN has no such queue pair.
  virtual bool open(std::uint32_t number, std::uint32_t xrc_domain) = 0;
  /// We have it open no more. True if nobody has: it is gone.
  virtual bool close(std::uint32_t number) = 0;
  /// The XRC domain of NUMBER; 0 if there is no such queue pair.
  [[nodiscard]] virtual std::uint32_t domain_of(std::uint32_t number) const = 0;
  /// Our turn, until end(). False if NUMBER is gone, or another process does not end its own.
  virtual bool begin(std::uint32_t number, qp::TargetState* state) = 0;
  virtual void end(std::uint32_t number, const qp::TargetState& state) = 0;
};

/// Whether a packet with these HEADERS is a request to an XRC target queue pair.
[[nodiscard]] inline bool is_target_request(const wire::Headers& headers) {
  if (headers.opcode.service != wire::Service::extended_reliable_connection) return false;
  const std::optional<wire::Shape> shape = wire::shape_of(headers.opcode);
  return shape && shape->is_request();
}

}  // namespace softrdma::link
