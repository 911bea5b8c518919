// Junction: the way of packets to wherever they go: by inboxes to the processes of this host, else
// by UDP. What comes by UDP is left in the inbox of the process that has the queue pair. What is
// for a multicast group goes both ways; what the system brings back of that is dropped.
//
// The processes of a host share the sockets: whoever polls empties them, one at a time, and if
// nobody does, a thread that sleeps on them. So nothing has to be taken over when one of them dies.
//
// Ownership: borrows host. Threads: the device's lock; on_socket_ready(): its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softrdma/fabric/host.hpp"
#include "softrdma/fabric/host_link.hpp"
#include "softrdma/link/identity.hpp"
#include "softrdma/link/link.hpp"
#include "softrdma/udp/addresses.hpp"
#include "softrdma/udp/group_sockets.hpp"
#include "softrdma/udp/socket.hpp"

namespace softrdma::udp {

class Junction final : public link::Link {
 public:
  /// Whoever reads them may be another thread than the one that receives.
  struct Counters {
    std::atomic<std::uint64_t> dropped = 0;  // came by UDP for nobody, or for a full inbox
    std::atomic<std::uint64_t> malformed = 0;
  };

  Junction(fabric::Host& host, std::vector<link::PortIdentity> ports)
      : host_(host),
        ports_(std::move(ports)),
        local_(host, ports_),
        sender_(host.sockets()),
        receiver_(host.sockets()) {}

  [[nodiscard]] std::optional<qp::Path> path_to(const ibv_ah_attr& address,
                                                ibv_mtu mtu) const override;
  [[nodiscard]] bool has_room(const qp::Destination& destination) override;
  void send(const qp::Outgoing& packet, const ibv_ah_attr& address) override;
  void flush() override { sender_.flush(); }
  void flush_payloads() override {
    if (sender_.has_payloads()) sender_.flush();
  }
  [[nodiscard]] bool has_waiting() const override { return sender_.size() > 0; }
  bool poll(link::Sink& sink, std::uint64_t now_ns) override;
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const override {
    return local_.deadline_ns();
  }
  void withdraw(std::span<const std::byte> memory) override { local_.withdraw(memory); }
  void withdraw_all() override { local_.withdraw_all(); }
  bool join(const ibv_gid& gid) override;
  void leave(const ibv_gid& gid) override;
  void open_management() override;

  bool pass_on(const qp::Arrival& arrival) override { return local_.pass_on(arrival); }
  [[nodiscard]] link::XrcTargets* xrc_targets() override { return local_.xrc_targets(); }
  [[nodiscard]] link::DirectAccess* direct() override { return local_.direct(); }

  void copy_always() { local_.copy_always(); }
  [[nodiscard]] const fabric::HostLink::Counters& local_counters() const {
    return local_.counters();
  }
  [[nodiscard]] const fabric::Direct::Counters& direct_counters() const {
    return local_.direct_counters();
  }
  [[nodiscard]] const Sender::Counters& sender_counters() const { return sender_.counters(); }
  /// Whether poll() would find a packet in the inbox.
  [[nodiscard]] bool has_mail() { return local_.has_mail(); }
  /// Something has come to socket WHICH, or, after the last, for a group, and nobody polls: whoever
  /// it is for wakes up and looks for more.
  void on_socket_ready(std::size_t which);
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Receiver::Counters& receiver_counters() const { return receiver_.counters(); }
  [[nodiscard]] const Receiver::Counters& group_counters() const { return groups_.counters(); }
  /// A descriptor that is readable when something has come for a group of this process.
  [[nodiscard]] int group_descriptor() const { return groups_.descriptor(); }

 private:
  [[nodiscard]] std::optional<Way> way(const ibv_ah_attr& address) const;
  /// SINK: for packets to this process, whose inbox is empty; null: they go there, too.
  bool empty_sockets(link::Sink* sink);
  bool empty_group_sockets(link::Sink* sink);
  void deliver(const Datagram& datagram, link::Sink* sink);
  void deliver_to_management(const qp::Arrival& arrival, link::Sink* sink);
  void deliver_to_group(const Datagram& datagram, link::Sink* sink);
  void hand_over(const qp::Arrival& arrival, std::uint16_t seat, link::Sink* sink);
  [[nodiscard]] qp::Arrival arrival_of(const wire::Packet& packet, const Datagram& datagram) const;

  fabric::Host& host_;
  const std::vector<link::PortIdentity> ports_;
  fabric::HostLink local_;
  Sender sender_;
  // Those of whoever has the reader's word.
  Receiver receiver_;
  GroupSockets groups_;
  Counters counters_;
  std::atomic<std::uint64_t> waits_for_reader_ = 0;
};

}  // namespace softrdma::udp
