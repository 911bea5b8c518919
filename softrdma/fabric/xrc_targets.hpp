// SharedXrcTargets: the XRC target queue pairs of a host.
//
// Packets go to the inbox of one process at a time: the one whose receive queue the latest message
// was for. It passes on what is for another one's, and with it the queue pair's place, so that
// packets stay in their order.
//
// Ownership: borrows host. Threads: the device's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/shared_lock.hpp"
#include "softrdma/link/xrc_targets.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::fabric {

class SharedXrcTargets final : public link::XrcTargets {
 public:
  explicit SharedXrcTargets(Host& host) : host_(host) {}

  bool add(std::uint32_t number, std::uint32_t xrc_domain) override;
  bool open(std::uint32_t number, std::uint32_t xrc_domain) override;
  bool close(std::uint32_t number) override;
  [[nodiscard]] std::uint32_t domain_of(std::uint32_t number) const override;
  bool begin(std::uint32_t number, qp::TargetState* state) override;
  void end(std::uint32_t number, const qp::TargetState& state) override;

  /// The seat of the process that a request which came to us is for, to which those that follow
  /// then go; nothing: ours.
  std::optional<std::uint16_t> take_route(const wire::Headers& request);

 private:
  [[nodiscard]] XrcTargetMemory* find(std::uint32_t number) const;

  Host& host_;
  std::optional<SharedLock> turn_;
};

/// The seat of the process that a packet with HEADERS goes to; nothing if nobody has the queue
/// pair. An XRC target queue pair outlives the process that had it last, of which LIVES(seat)
/// tells.
template <class Lives>
[[nodiscard]] std::optional<std::uint16_t> receiver_of(const Host& host,
                                                       const wire::Headers& headers,
                                                       Lives&& lives) {
  const std::optional<std::uint16_t> owner = host.owner_of(headers.destination_qp);
  if (!owner || !link::is_target_request(headers) || lives(*owner)) return owner;
  return host.owner_of(headers.receive_queue);
}

}  // namespace softrdma::fabric
