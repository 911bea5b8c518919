// ConnectionAgent: queue pair 1 of an adapter: between its packets and the connections of this
// process, and between addresses of IP and those of the adapter's port.
//
// Ownership: borrows adapter, listener and mutex. Threads: what the device calls, under the
// adapter's lock, takes the mutex; manager() and note_change() under the mutex alone; flush() under
// neither. So the adapter's lock is taken before the mutex, never after it.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "softrdma/cm/manager.hpp"
#include "softrdma/device/management_agent.hpp"
#include "softrdma/verbs/adapter.hpp"
#include "softrdma/verbs/cm_endpoint.hpp"

namespace softrdma::verbs {

class ConnectionAgent;

/// Told of what happens to connections, under the mutex.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  virtual void on_event(ConnectionAgent& agent, std::uint32_t connection, const wire::Address& peer,
                        const cm::Event& event) = 0;
  /// Whether no process of this host listens on SERVICE.
  virtual bool is_unknown(std::uint64_t service) = 0;
};

/// The port that connections go by.
inline constexpr std::uint8_t connection_port = 1;

class ConnectionAgent final : public device::ManagementAgent, private cm::ManagerHost {
 public:
  ConnectionAgent(int index, Adapter& adapter, ConnectionListener& listener, std::mutex& mutex);

  // Constant
  /// As the list of devices counts it.
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] Adapter& adapter() const { return adapter_; }
  [[nodiscard]] const link::PortIdentity& port() const { return *adapter_.port(connection_port); }
  /// Whether ADDRESS is one of this host's, as this adapter sees it.
  [[nodiscard]] bool is_ours(const IpEndpoint& endpoint) const;
  /// The address of ours that packets for TO come from; nothing if there is none.
  [[nodiscard]] std::optional<wire::Address> source_for(const IpEndpoint& to) const;
  /// Where packets from OWN to REMOTE go.
  [[nodiscard]] ibv_ah_attr way(const wire::Address& own, const wire::Address& remote) const;
  [[nodiscard]] ibv_gid gid_of(const wire::Address& address) const;
  [[nodiscard]] std::uint16_t lid_of(const wire::Address& address) const;

  [[nodiscard]] cm::Manager& manager() { return manager_; }
  /// After the manager was used.
  void note_change();
  /// Whether note_change() was called since the last flush().
  [[nodiscard]] bool has_changed() const { return has_changed_; }
  /// What waits goes out.
  void flush();

 private:
  void on_datagram(std::span<const std::byte, device::management_bytes> datagram,
                   const qp::Arrival& arrival, std::uint64_t now_ns) override;
  [[nodiscard]] std::uint64_t due_ns() const override { return due_ns_; }
  void act(std::uint64_t now_ns) override;

  void send(const cm::Datagram& datagram, const wire::Address& to) override;
  void on_event(std::uint32_t connection, const wire::Address& peer,
                const cm::Event& event) override;
  bool refuses(std::uint64_t service) override { return listener_.is_unknown(service); }

  /// By which this host is known to itself.
  [[nodiscard]] wire::Address own_address() const;

  const int index_;
  Adapter& adapter_;
  ConnectionListener& listener_;
  std::mutex& mutex_;
  cm::Manager manager_;
  std::vector<std::pair<cm::Datagram, wire::Address>> waiting_;
  std::atomic<std::uint64_t> due_ns_ = ~std::uint64_t{0};
  std::atomic<bool> has_changed_ = false;
};

}  // namespace softrdma::verbs
