// HostLink: the way of packets between the processes of a host, and of a process to itself.
//
// A packet is left in the inbox of the process that has the queue pair, with its payload, or, of
// reliable services, with the addresses of a long one, which the receiver reads from the sender's
// memory. What a receiver may not read (the kernel forbids it) is asked for again, and is copied
// from then on.
//
// Ownership: borrows host. Threads: the device's lock; has_mail() and the bell: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "softrdma/fabric/direct.hpp"
#include "softrdma/fabric/group_filter.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/neighbours.hpp"
#include "softrdma/fabric/xrc_targets.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/link/link.hpp"

namespace softrdma::fabric {

class HostLink final : public link::Link {
 public:
  struct Counters {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t read_bytes = 0;  // payload out of other processes' memory
    std::uint64_t gone = 0;        // payloads that were withdrawn or could not be read
    std::uint64_t malformed = 0;
    std::uint64_t without_room = 0;  // copies for a multicast group, or for queue pair 1
  };

  /// PORTS: those of the adapter, the first of which is port 1.
  HostLink(Host& host, std::vector<link::PortIdentity> ports)
      : host_(host),
        ports_(std::move(ports)),
        inbox_(host.inbox(host.seat())),
        groups_(host.seat_memory(host.seat()).groups) {}

  [[nodiscard]] std::optional<qp::Path> path_to(const ibv_ah_attr& address,
                                                ibv_mtu mtu) const override;
  [[nodiscard]] bool has_room(const qp::Destination& destination) override;
  /// ADDRESS is of this host, is_ours(), or of a multicast group.
  void send(const qp::Outgoing& packet, const ibv_ah_attr& address) override;
  bool poll(link::Sink& sink, std::uint64_t now_ns) override;
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const override;
  void withdraw(std::span<const std::byte> memory) override;
  void withdraw_all() override;
  bool join(const ibv_gid& gid) override;
  void leave(const ibv_gid& gid) override;
  void open_management() override { host_.seat_memory(host_.seat()).has_management = 1; }
  bool pass_on(const qp::Arrival& arrival) override;
  [[nodiscard]] link::XrcTargets* xrc_targets() override { return &targets_; }
  [[nodiscard]] link::DirectAccess* direct() override { return &direct_; }

  /// From now on every payload is copied when it is sent.
  void copy_always() { copies_always_ = true; }
  /// Whether ADDRESS is of this host.
  [[nodiscard]] bool is_ours(const ibv_ah_attr& address) const {
    return link::is_addressed(ports_, address);
  }
  /// Whether poll() would find a packet.
  [[nodiscard]] bool has_mail() { return inbox_.front() != nullptr; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Direct::Counters& direct_counters() const { return direct_.counters(); }

 private:
  class FarMemory;
  /// A packet that found no room after all.
  struct Held {
    qp::Outgoing packet;
    ibv_ah_attr address;
    std::vector<std::byte> copy;  // of its payload, unless that may be read later
    std::uint32_t epoch;
  };
  /// A payload that may still be read from our memory.
  struct Outstanding {
    std::uint16_t seat;
    std::uint64_t position;
    std::uint64_t begin;  // addresses around all of its pieces
    std::uint64_t end;
  };

  // Leaving packets
  template <class Wants>
  void send_to_each(const qp::Outgoing& packet, const ibv_ah_attr& address, Wants&& wants);
  [[nodiscard]] Form form_for(std::uint16_t seat, const qp::Outgoing& packet) const;
  bool leave(std::uint16_t seat, const qp::Outgoing& packet, const ibv_ah_attr& address);
  [[nodiscard]] Route route_of(const qp::Outgoing& packet, const ibv_ah_attr& address) const;
  void note_outstanding(std::uint16_t seat, std::uint64_t position, const memory::Pieces& pieces);
  bool leave_held();
  void hold(std::uint16_t seat, const qp::Outgoing& packet, const ibv_ah_attr& address);
  // Taking packets
  bool take_one(link::Sink& sink);
  bool open(const Slot& slot, FarMemory* far, std::vector<std::byte>* joined, qp::Arrival* out);
  void pass_dead(std::uint64_t now_ns);
  [[nodiscard]] bool may_read(std::uint16_t seat);

  Host& host_;
  const std::vector<link::PortIdentity> ports_;
  Inbox inbox_;
  GroupFilter groups_;
  Neighbours neighbours_{host_};
  SharedXrcTargets targets_{host_};
  Direct direct_{host_, neighbours_, ports_};
  std::map<std::uint16_t, Held> held_;  // by who it is for
  std::deque<Outstanding> outstanding_;
  std::uint64_t now_ns_ = 0;
  std::optional<std::uint64_t> looks_again_ns_;
  std::uint64_t stuck_since_ns_ = 0;
  bool copies_always_ = false;
  Counters counters_;
};

}  // namespace softrdma::fabric
