// VerbsTransport: peers reached through an RDMA adapter's queue pairs.
//
// At start there is one datagram queue pair, and nothing per peer: whoever knows its address can
// send to it, and is answered at the address that its datagram came from. So there is no
// connection to be made: `ud_send` is there as soon as the peer's address is known.
// Ownership: owns port, queues and links; borrows sink and ledger.
// Threads:   the lane lock.
// Security:  a datagram without the token of its sender is dropped before anything in it is used.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "transport/transport.hpp"
#include "transport/verbs/datagrams.hpp"
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
  };
  static Result<std::unique_ptr<VerbsTransport>> open(const Environment& environment,
                                                      const Settings& settings);

  [[nodiscard]] std::string_view name() const override { return "verbs"; }
  Result<std::span<const std::byte>> address() override;
  Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) override;
  bool progress() override;
  [[nodiscard]] bool is_drained() const override;
  void leave() override {}
  void come_back() override {}
  [[nodiscard]] int descriptor() const override { return datagrams_->descriptor(); }
  void arm() override { datagrams_->arm(); }

  /// Datagrams that were dropped: strangers', malformed, or to somebody else.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  VerbsTransport(const Environment& environment, std::unique_ptr<Port> port,
                 std::unique_ptr<Datagrams> datagrams);
  VerbsLink& make_link(const Identity& peer, std::uint64_t expected_token);
  void on_datagram(const ReceivedDatagram& datagram);
  /// The link of the datagram's sender, made if it is the first of one who knows the key; null if
  /// it does not.
  VerbsLink* link_of(const DatagramHeader& header, const ReceivedDatagram& datagram);

  const Environment environment_;
  const std::unique_ptr<Port> port_;
  std::unique_ptr<Datagrams> datagrams_;
  PortAddress address_;
  std::unordered_map<Identity, std::unique_ptr<VerbsLink>> links_;
  std::uint64_t dropped_ = 0;
};

}  // namespace hawser::transport::verbs
