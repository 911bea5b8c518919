// ConnectionService: what the connection manager of this process knows: its event channels, the
// identifiers that programs made, and the queue pair 1 of each adapter.
//
// Ownership: of all that. Threads: any; every member but execute(), open(), close() and flush() is
// used under the mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "softrdma/cm/ip_service.hpp"
#include "softrdma/verbs/cm_agent.hpp"
#include "softrdma/verbs/cm_channel.hpp"
#include "softrdma/verbs/cm_endpoint.hpp"
#include "softrdma/verbs/cm_ports.hpp"

namespace softrdma::verbs {

/// How far an identifier has come.
enum class Stage : std::uint8_t {
  created,
  bound,
  address_resolved,
  route_resolved,
  listening,
  requested,   // made for somebody's request
  connecting,  // and whatever follows, which the connection knows
};

/// A multicast group that an identifier has joined.
struct JoinedGroup {
  std::uint32_t handle = 0;
  std::uint32_t identifier = 0;
  std::uint32_t events_reported = 0;
};

/// What rdma_create_id makes.
struct Identifier {
  std::uint32_t handle = 0;
  std::uint64_t uid = 0;  // what the program calls it
  EventChannel* channel = nullptr;
  std::uint16_t space = 0;
  std::uint8_t queue_pair_type = 0;
  Stage stage = Stage::created;
  IpEndpoint source;
  IpEndpoint destination;
  ConnectionAgent* agent = nullptr;         // of its adapter, once that is known
  std::optional<std::uint32_t> connection;  // what the manager calls it
  std::uint32_t queue_key = 0;              // of datagrams
  std::uint32_t events_reported = 0;
  std::uint8_t packet_lifetime = 0;
  PortHold port;
  PortHold listening;
  std::uint32_t backlog = 0;        // requests that may wait at most
  std::uint32_t waiting_count = 0;  // that wait

  [[nodiscard]] bool is_datagram() const { return queue_pair_type == IBV_QPT_UD; }
  [[nodiscard]] std::uint64_t listening_service() const {
    return cm::service_of(space, source.port);
  }
};

class ConnectionService final : private ConnectionListener {
 public:
  /// Made at the first call, of the adapters of the list; null if there are none.
  static ConnectionService* get();

  /// A new channel's descriptor; negative, and errno, if there is none. FLAGS: of open(2).
  int open(int flags);
  /// Nothing happens if DESCRIPTOR is no channel.
  void close(int descriptor);
  /// What a program wrote to a channel. Returns what write(2) would, errors as negative numbers.
  ssize_t execute(int descriptor, std::span<const std::byte> command);
  /// What commands left to be sent goes out.
  void flush();
  /// The process ends: everybody hears that its connections do.
  void end();

  [[nodiscard]] std::mutex& mutex() { return mutex_; }
  [[nodiscard]] std::shared_ptr<EventChannel> channel(int descriptor) const;
  [[nodiscard]] std::span<const std::unique_ptr<ConnectionAgent>> agents() const { return agents_; }

  Identifier& add_identifier(EventChannel& channel);
  /// Null if there is none.
  [[nodiscard]] Identifier* find(std::uint32_t handle);
  /// Its connection ends, and events of it that nobody fetched go.
  void remove(Identifier& identifier);
  JoinedGroup& add_group(const Identifier& identifier);
  [[nodiscard]] JoinedGroup* find_group(std::uint32_t handle);
  void remove_group(const JoinedGroup& group);
  /// CHANNEL has its events from now on.
  void move(Identifier& identifier, EventChannel& channel);

  /// An event of IDENTIFIER without more to say.
  void tell(Identifier& identifier, std::uint32_t event, int status = 0);
  /// Takes the next event of CHANNEL, which has one.
  rdma_ucm_event_resp fetch(EventChannel& channel);

  [[nodiscard]] PortName port_name(const Identifier& identifier, std::uint16_t port) const;

 private:
  ConnectionService();
  void on_event(ConnectionAgent& agent, std::uint32_t connection, const wire::Address& peer,
                const cm::Event& event) override;
  bool is_unknown(std::uint64_t service) override;
  void on_request(ConnectionAgent& agent, std::uint32_t connection, const cm::Event& event);
  Identifier* listener_for(std::uint64_t service, const cm::IpHeader& header,
                           const ConnectionAgent& agent);
  std::uint32_t new_handle();

  std::mutex mutex_;
  std::map<int, std::shared_ptr<EventChannel>> channels_;
  std::map<std::uint32_t, std::unique_ptr<Identifier>> identifiers_;
  std::map<std::uint32_t, JoinedGroup> groups_;
  std::vector<std::unique_ptr<ConnectionAgent>> agents_;
  std::uint32_t last_handle_ = 0;
};

}  // namespace softrdma::verbs
