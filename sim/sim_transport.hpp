// SimTransport: a transport over the simulated network, with the channels and traits of shared
// memory: `shared_queue` for all peers, `ring` when asked for and granted, `single_copy` for some
// pairs. Or, where the network has datagrams, `ud_send` for all peers, with no connection, perhaps
// `ud_zero_copy`, and `rc_send` and `rc_fast_path` for those that have earned one.
//
// Both sides may connect at once; a peer's first frames may come before the answer to our hello; a
// question for a ring may be refused, and a copy stopped in mid-message.
// There may be several rails of datagrams: a transport for each.
// Ownership: owns its links; borrows the network, which it leaves at its end.
// Threads:   one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/joint_copies.hpp"
#include "sim/network.hpp"
#include "sim/sim_connection.hpp"
#include "transport/transport.hpp"

namespace hawser::sim {

using base::Identity;
using base::Result;

class SimLink final : public transport::Link {
 public:
  /// From port SELF of the network, of rail BY, to port PEER. IS_UP: whether SELF is, as far as its
  /// process knows.
  SimLink(Network& network, transport::Sink& sink, Holdings& holdings, transport::Rail by,
          const bool& is_up, std::uint32_t self, std::uint32_t peer);
  ~SimLink() override;

  [[nodiscard]] transport::ChannelSet possible_channels() const override;
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override;
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  bool ask(ChannelKind kind) override;
  bool give_back(ChannelKind kind) override;
  bool recall(ChannelKind kind) override;
  [[nodiscard]] transport::Rail rail() const override { return rail_; }
  [[nodiscard]] bool is_up() const override { return is_up_; }
  void break_connection() override { connection_.break_now(); }
  void abandon() override;
  [[nodiscard]] bool may_lose_frames() const override;
  bool send_once(ChannelKind kind, std::span<const std::byte> frame) override;
  [[nodiscard]] bool sends_once_along() const override {
    return network_.settings().sends_once_along;
  }
  Resent resend(ChannelKind kind, std::byte* frame, std::size_t bytes,
                bool may_be_damaged) override;
  [[nodiscard]] bool is_under_way(std::byte* frame) const override;
  Resent send_copy(std::span<const std::byte> frame) override;
  void release(ChannelKind kind, std::byte* frame) override;
  [[nodiscard]] bool is_away() const override;
  [[nodiscard]] bool notices_end() const override { return !may_lose_frames(); }
  std::span<const std::byte> front(ChannelKind kind) override;
  void pop(ChannelKind kind) override;
  std::int64_t get(std::span<const transport::MemoryPiece> local,
                   std::span<const transport::MemoryPiece> remote) override;
  [[nodiscard]] bool does_one_copy_pay(std::size_t bytes) override;
  [[nodiscard]] transport::JointCopies* joint_copies() override { return &joint_copies_; }
  Result<std::unique_ptr<transport::HeldMemory>> hold(std::uint64_t address,
                                                      std::size_t bytes) override;
  [[nodiscard]] bool is_registered(std::uint64_t address, std::size_t bytes) override;
  bool start(const transport::Operation& operation) override;
  [[nodiscard]] std::uint32_t operations_epoch() const override;
  void stop_operations(std::uint32_t epoch) override;
  Result<transport::Clearance> expect(const transport::DirectMessage& message) override;
  void stop_expecting(std::uint64_t token) override;
  bool send_cleared(const transport::DirectMessage& message,
                    std::span<const std::byte> clearance) override;

 private:
  friend class SimTransport;
  friend class SimConnection;
  /// A frame that was committed, until it is released, and the queue pair that carried it, if one
  /// did.
  struct KeptFrame {
    std::unique_ptr<std::byte[]> memory;
    Connections::PairNumber pair;
    std::uint64_t behind;  // the token of the operation that it is chained behind, or `nothing`
  };
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  void add(ChannelKind kind) {
    channels_.add(kind);
    joint_copies_.set_outgoing(channels_.has(ChannelKind::ring));
  }
  void remove(ChannelKind kind) {
    channels_.remove(kind);
    joint_copies_.set_outgoing(channels_.has(ChannelKind::ring));
  }
  void set_earnable(ChannelKind kind, bool is_earnable) {
    is_earnable ? earnable_.add(kind) : earnable_.remove(kind);
  }
  void set_incoming(ChannelKind kind, bool is_there) {
    is_there ? incoming_.add(kind) : incoming_.remove(kind);
    joint_copies_.set_incoming(incoming_.has(ChannelKind::ring));
  }
  /// The peer is lost.
  void end_joint_copies() {
    network_.joint_claims().end(self_, peer_);
    joint_copies_.set_outgoing(false);
  }
  bool has_room(ChannelKind kind);
  void on_operation_ended(std::uint64_t token, bool was_done);
  void dispatch(ChannelKind kind, std::span<const std::byte> frame);
  /// We are done with a frame that the peer sent by KIND.
  void free_room(ChannelKind kind, Connections::PairNumber senders_pair);

  Network& network_;
  transport::Sink& sink_;
  const transport::Rail rail_;
  const bool& is_up_;
  const std::uint32_t self_;
  const std::uint32_t peer_;
  bool announced_ = false;  // the sink knows of it
  bool is_lost_ = false;
  SimJointCopies joint_copies_;  // where there are rings
  SimConnection connection_;     // where there are datagrams
  std::unique_ptr<std::byte[]> reserved_;
  std::size_t reserved_bytes_ = 0;
  std::uint64_t chained_ = nothing;  // the operation that the reserved frame will be behind
  std::map<std::byte*, KeptFrame> kept_;
};

class SimTransport final : public transport::Transport {
 public:
  /// LIMITS: those of the channels that are earned.
  SimTransport(Network& network, const Identity& self, std::uint8_t rail, transport::Sink& sink,
               const channel::PolicySettings& limits);
  ~SimTransport() override;

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] transport::Rail rail() const override { return rail_; }
  Result<std::span<const std::byte>> address() override;
  Result<transport::Link*> connect(const Identity& peer,
                                   std::span<const std::byte> address) override;
  bool progress() override;
  /// What was committed is on its way.
  [[nodiscard]] bool is_drained() const override { return true; }
  // Simulated processes leave when they end.
  void leave() override {}
  void come_back() override {}
  [[nodiscard]] std::uint64_t deadline_ns() const override;
  [[nodiscard]] std::size_t datagram_bytes_max() const override;

 private:
  /// PEER is the number of a process.
  SimLink& link_to(std::uint32_t peer);
  [[nodiscard]] Identity identity_of(const SimLink& link) const {
    return {self_.job, network_.process_of(link.peer_), self_.epoch};
  }
  void set_up(bool is_up);
  void handle(const Arrival& arrival);
  void handle(SimLink& link, const Arrival& arrival);
  void handle_hello(SimLink& link);
  void handle_notice(SimLink& link, Parcel parcel, ChannelKind kind);
  void attach(SimLink& link);
  void open_datagrams(SimLink& link);
  void add_datagrams(SimLink& link) const;
  void handle_crossing(SimLink& link, const Arrival& arrival);

  Network& network_;
  const Identity self_;
  const transport::Rail rail_;
  const std::string name_;
  const std::uint32_t port_;
  transport::Sink& sink_;
  bool is_up_ = true;
  Holdings holdings_;
  std::map<std::uint32_t, std::unique_ptr<SimLink>> links_;
};

}  // namespace hawser::sim
