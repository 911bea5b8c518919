// Link: what a device sends packets by, and gets them from. The contract of all of them: shared
// memory, UDP, simulated.
//
// Ownership: a packet's payload is read before send() returns if its service is unreliable; else
// until it is answered, or withdrawn. Threads: the device's lock; only
// wake-ups come from elsewhere.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/link/direct.hpp"
#include "softrdma/link/xrc_targets.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/qp/queue_pair.hpp"

namespace softrdma::link {

/// Where packets that came are taken to.
class Sink {
 public:
  virtual ~Sink() = default;
  /// The payload is valid until this returns.
  virtual void on_arrival(const qp::Arrival& arrival) = 0;
};

class Link {
 public:
  virtual ~Link() = default;

  /// What the way to ADDRESS allows, for packets of MTU between hosts; nothing if it leads nowhere.
  [[nodiscard]] virtual std::optional<qp::Path> path_to(const ibv_ah_attr& address,
                                                        ibv_mtu mtu) const = 0;
  /// Whether a packet for DESTINATION can be sent now.
  [[nodiscard]] virtual bool has_room(const qp::Destination& destination) = 0;
  /// After has_room(). What is lost on the way, nobody tells.
  virtual void send(const qp::Outgoing& packet, const ibv_ah_attr& address) = 0;
  /// Packets that were sent are on their way when this returns.
  virtual void flush() {}
  /// The same, but for packets without payload, which may wait for the next flush().
  virtual void flush_payloads() { flush(); }
  /// Whether any wait.
  [[nodiscard]] virtual bool has_waiting() const { return false; }
  /// Gives what has come to SINK; true if there was anything, or room came to be.
  virtual bool poll(Sink& sink, std::uint64_t now_ns) = 0;
  /// Returns when nobody reads MEMORY any more as the payload of a packet that was sent, nor will;
  /// such a packet counts as lost.
  virtual void withdraw(std::span<const std::byte> /*memory*/) {}
  /// The same for all memory.
  virtual void withdraw_all() {}
  /// Packets for the multicast group GID come from now on, too. False if the system refuses; then
  /// they don't.
  virtual bool join(const ibv_gid& /*gid*/) { return true; }
  /// They come no more: GID was joined, once.
  virtual void leave(const ibv_gid& /*gid*/) {}
  /// Packets for queue pair 1 come from now on, too.
  virtual void open_management() {}
  /// When poll() has something to do though nothing comes in; nothing: not by itself.
  [[nodiscard]] virtual std::optional<std::uint64_t> deadline_ns() const { return std::nullopt; }
  /// Passes ARRIVAL, a request to an XRC target queue pair, on to the process of this host that it
  /// is for. False: it is for us.
  virtual bool pass_on(const qp::Arrival& /*arrival*/) { return false; }
  /// Null if no other process has any of those.
  [[nodiscard]] virtual XrcTargets* xrc_targets() { return nullptr; }
  /// Null if its peers can't copy by themselves.
  [[nodiscard]] virtual DirectAccess* direct() { return nullptr; }
};

}  // namespace softrdma::link
