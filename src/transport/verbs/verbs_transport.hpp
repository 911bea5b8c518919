// VerbsTransport: peers reached through the queue pairs of one port of an RDMA adapter. A process
// has one for each port that it uses, a rail.
//
// At start there is one datagram queue pair, and nothing per peer: whoever knows its address can
// send to it, and is answered at the address that its datagram came from. So `ud_send` is there as
// soon as the peer's address is known. Peers that earn it get a connection, by datagrams, too.
// Ownership: owns port, queues and links; borrows sink and ledger.
// Threads:   the lane lock.
// Security:  a datagram without the token of its sender is dropped before anything in it is used.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "memory/registration/memory_events.hpp"
#include "memory/registration/registration_cache.hpp"
#include "platform/descriptor_set.hpp"
#include "transport/transport.hpp"
#include "transport/verbs/adapter_events.hpp"
#include "transport/verbs/datagrams.hpp"
#include "transport/verbs/link_services.hpp"
#include "transport/verbs/token.hpp"
#include "transport/verbs/verbs_link.hpp"

namespace hawser::transport::verbs {

class VerbsTransport final : public Transport {
 public:
  struct Environment {
    Identity self;
    JobKey key;
    memory::Ledger* ledger;
    Sink* sink;
    std::function<std::uint64_t()> clock;  // nanoseconds
    int host_file = -1;                    // see XrcDomain
  };
  /// One for each port that SETTINGS allow, in the order of their rails; one at least.
  static Result<std::vector<std::unique_ptr<VerbsTransport>>> open_all(
      const Environment& environment, const Settings& settings);
  /// The first of them.
  static Result<std::unique_ptr<VerbsTransport>> open(const Environment& environment,
                                                      const Settings& settings);

  ~VerbsTransport() override;

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] transport::Rail rail() const override { return services_->rail; }
  [[nodiscard]] std::vector<Traffic> traffic() const override;
  Result<std::span<const std::byte>> address() override;
  Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) override;
  bool progress() override;
  [[nodiscard]] bool is_drained() const override;
  void leave() override {}
  void come_back() override {}
  [[nodiscard]] int descriptor() const override { return woken_by_.descriptor(); }
  [[nodiscard]] int departures_descriptor() const override {
    return departures_ ? departures_->fd : -1;
  }
  void arm() override;
  [[nodiscard]] std::uint64_t deadline_ns() const override;
  /// Registered at once where there are connections, else when it is first used.
  void on_memory_allocated(std::uint64_t address, std::size_t bytes) override;
  void on_memory_freed(std::uint64_t address) override;
  [[nodiscard]] std::size_t datagram_bytes_max() const override {
    return mtu_bytes(port_->mtu) - sizeof(DatagramHeader);
  }

  /// Datagrams that were dropped: strangers', malformed, or to somebody else.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// Hosts to whose processes it sends by a queue pair of XRC now.
  [[nodiscard]] std::size_t xrc_hosts() const {
    return services_->xrc ? services_->xrc->hosts->size() : 0;
  }

 private:
  /// How long what a sleeper's peer wrote before it saw that it sleeps can stay unseen.
  static constexpr std::uint64_t look_ns = 50'000'000;
  /// Rounds of progress after which a process that slept counts as awake.
  static constexpr std::uint32_t rounds_if_awake = 256;
  /// Rounds of progress after which events are looked for, which is a call of the system; sooner
  /// by so much if nothing arrives.
  static constexpr std::uint32_t rounds_per_look = 1U << 16;
  static constexpr std::uint32_t rounds_of_idle_one = 32;

  static Result<std::unique_ptr<VerbsTransport>> open(const Environment& environment,
                                                      const Settings& settings, Port port,
                                                      std::uint8_t rail);
  VerbsTransport(Environment environment, std::unique_ptr<Port> port, CompletionChannel channel,
                 CompletionChannel departures, platform::DescriptorSet woken_by,
                 const Settings& settings, std::uint8_t rail);
  Result<void> open_datagrams();
  memory::RegistrationCache& registrations();
  void make_registrations();
  VerbsLink& make_link(const Identity& peer, std::uint64_t expected_token);
  void on_datagram(const ReceivedDatagram& datagram);
  /// The link of the datagram's sender, made if it is the first of one who knows the key; null if
  /// it does not.
  VerbsLink* link_of(const DatagramHeader& header, const ReceivedDatagram& datagram);
  bool poll_connections();
  void take_events();
  void set_up(bool is_up);
  bool poll_rings();
  bool serve_links();
  bool end_connections();
  void say_asleep(bool is_asleep);

  const Environment environment_;
  const Settings settings_;
  const std::string name_;
  const std::uint8_t rail_;
  const std::unique_ptr<Port> port_;
  const CompletionChannel channel_;
  const CompletionChannel departures_;  // null: channel_ tells of them as well
  AdapterEvents events_;
  const platform::DescriptorSet woken_by_;  // completions and events
  SendBuffers buffers_;
  PortRegistrar registrar_;  // of memory that peers may reach
  memory::BufferPool words_;
  std::unique_ptr<memory::RegistrationCache> registrations_;
  std::map<std::uint64_t, std::size_t> allocated_;  // by the program, before there was that cache
  std::unique_ptr<memory::MemoryEvents> memory_events_;  // that keep it true
  std::unique_ptr<Datagrams> datagrams_;
  std::unique_ptr<LinkServices> services_;
  PortAddress address_;
  std::unordered_map<Identity, std::unique_ptr<VerbsLink>> links_;
  bool said_asleep_ = false;
  std::uint32_t rounds_awake_ = 0;       // of progress since
  std::uint32_t rounds_since_look_ = 0;  // for events
  std::uint64_t dropped_ = 0;
};

}  // namespace hawser::transport::verbs
