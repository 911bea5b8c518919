// VerbsLink: one peer over the verbs transport: by datagrams from the start, by a connection, a
// fast path and operations on memory once they were earned.
//
// Every frame stays in its buffer until it is released, whatever it leaves by: when a connection
// breaks, what it carried goes on by datagrams, in parts if it is longer than one.
// Ownership: owned by VerbsTransport; borrows its services, owns what is the peer's alone.
// Threads:   the lane lock.
#pragma once

#include <memory>

#include "transport/transport.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/fast_path.hpp"
#include "transport/verbs/link_services.hpp"
#include "transport/verbs/parts.hpp"
#include "transport/verbs/xrc_receiver.hpp"
#include "transport/verbs/xrc_sender.hpp"

namespace hawser::transport::verbs {

class VerbsLink final : public Link,
                        public Connector::Listener,
                        public FastPath::Listener,
                        public XrcListener {
 public:
  /// HEADER: that of all datagrams to this peer. EXPECTED_TOKEN: that of what it sends.
  VerbsLink(LinkServices& services, const Identity& peer, const DatagramHeader& header,
            std::uint64_t expected_token)
      : services_(services), peer_(peer), header_(header), expected_token_(expected_token) {}

  /// The peer can be reached: by TO at its QUEUE_PAIR, through ports of at most MTU (as the verbs
  /// number it).
  void open(AddressHandle to, std::uint32_t queue_pair, std::uint8_t mtu);
  [[nodiscard]] std::uint64_t expected_token() const { return expected_token_; }

  // What the transport got for this link.
  void on_part(std::span<const std::byte> part);
  void on_connection_message(std::span<const std::byte> message);
  void on_xrc_message(std::span<const std::byte> message);
  /// Takes what the peer has written into our ring; true if anything was there.
  bool poll_ring();
  void say_asleep(bool is_asleep);
  void serve(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;
  void finish_ending();
  /// The transport ends: connections before all that they use.
  void close();

  [[nodiscard]] ChannelSet possible_channels() const override {
    return {ChannelKind::ud_send, ChannelKind::rc_send,      ChannelKind::rc_fast_path,
            ChannelKind::rc_rdma, ChannelKind::ud_zero_copy, ChannelKind::xrc_send};
  }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override;
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  [[nodiscard]] Rail rail() const override { return services_.rail; }
  [[nodiscard]] bool is_up() const override { return services_.is_up; }
  [[nodiscard]] std::uint64_t bits_per_second() const override {
    return services_.port.bits_per_second;
  }
  void break_connection() override;
  [[nodiscard]] bool may_lose_frames() const override { return true; }
  [[nodiscard]] std::uint32_t receive_window() const override;
  [[nodiscard]] std::uint32_t send_window() const override;
  bool send_once(ChannelKind kind, std::span<const std::byte> frame) override;
  Resent resend(ChannelKind kind, std::byte* frame, std::size_t bytes,
                bool may_be_damaged) override;
  [[nodiscard]] bool is_under_way(std::byte* frame) const override;
  Resent send_copy(std::span<const std::byte> frame) override;
  void release(ChannelKind kind, std::byte* frame) override;
  bool ask(ChannelKind kind) override;
  bool give_back(ChannelKind kind) override;
  bool recall(ChannelKind kind) override;
  void abandon() override;
  [[nodiscard]] bool is_away() const override { return false; }
  [[nodiscard]] bool notices_end() const override { return false; }
  std::span<const std::byte> front(ChannelKind kind) override;
  void pop(ChannelKind kind) override;
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;
  Result<std::unique_ptr<HeldMemory>> hold(std::uint64_t address, std::size_t bytes) override;
  Result<std::unique_ptr<HeldMemory>> hold_once(std::uint64_t address, std::size_t bytes) override;
  [[nodiscard]] bool is_registered(std::uint64_t address, std::size_t bytes) override;
  bool start(const Operation& operation) override;
  [[nodiscard]] std::uint32_t operations_epoch() const override;
  void stop_operations(std::uint32_t epoch) override;
  Result<Clearance> expect(const DirectMessage& message) override;
  void stop_expecting(std::uint64_t token) override;
  bool send_cleared(const DirectMessage& message, std::span<const std::byte> clearance) override;

 private:
  static constexpr std::uint32_t large_frames_max = 2;  // that were not released yet

  /// Our way to the peer by XRC, and the peer's to us.
  struct Xrc {
    Xrc(LinkServices& services, XrcListener& listener)
        : sender(services, listener), receiver(services, listener) {}
    XrcSender sender;
    XrcReceiver receiver;
  };

  Connector& connector();
  Xrc& xrc();
  bool ask_for_xrc();
  void send_by_xrc();
  void send_control(std::uint8_t type, std::span<const std::byte> message);
  /// Null unless frames can be sent by one.
  [[nodiscard]] Connection* open_connection() const {
    return connector_ ? connector_->open() : nullptr;
  }
  [[nodiscard]] bool has_room(ChannelKind kind, std::size_t bytes);
  bool post_datagram(std::byte* frame, std::size_t bytes, const DatagramHeader& header);
  bool post_frame(std::byte* frame, std::size_t bytes);
  bool post_parts(std::span<const std::byte> frame, std::uint32_t id);
  void write_to_ring(Connection& connection, std::byte* frame, std::size_t bytes);
  /// For tests: it is this frame's turn to break what it left by.
  bool is_to_break();
  void drop_fast_path();
  void end_ring_of_peer();

  bool on_connection_asked() override;
  void on_connection_withdrawn() override;
  void on_connection_open() override;
  void on_connection_refused() override;
  void on_connection_closing() override;
  void on_connection_broken() override;
  void on_connection_ended() override;
  void on_timed() override;
  void on_ending() override;
  void send_message(const ConnectionMessage& message) override;
  void on_operation_ended(std::uint64_t token, bool was_done) override;
  void on_received(Connection& connection, const ibv_wc& completion,
                   std::span<const std::byte> bytes) override;
  void on_broken() override { on_timed(); }

  bool on_fast_path_asked() override;
  void on_fast_path_withdrawn() override;
  void on_fast_path_open() override;
  void on_fast_path_refused() override;
  void on_fast_path_recalled() override;

  void on_xrc_open() override;
  void on_xrc_refused(XrcRefusal refusal) override;
  void on_xrc_room() override;
  void on_xrc_broken() override;
  void on_xrc_recalled() override;
  bool on_xrc_asked() override;
  void on_xrc_given_back() override;
  void on_xrc_arrived(std::span<const std::byte> frame) override;
  void send_xrc_message(const XrcMessage& message) override;

  LinkServices& services_;
  const Identity peer_;
  const DatagramHeader header_;
  const std::uint64_t expected_token_;
  AddressHandle to_;
  std::uint32_t queue_pair_ = 0;
  std::size_t datagram_frame_bytes_max_ = 0;
  std::uint32_t kept_ = 0;        // frames that were not released yet
  std::uint32_t large_kept_ = 0;  // of them
  std::uint32_t low_kept_ = 0;    // likewise, that left by a queue pair of low priority
  std::uint32_t parts_made_ = 0;  // frames that were sent in parts
  std::byte* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  bool is_timed_ = false;
  // A peer that never earned a connection has none of these.
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<FastPath> fast_path_;  // while there is a connection
  std::uint32_t ring_number_ = 0;        // of our ring at the peer, as frames note it
  std::unique_ptr<PartAssembler> parts_;
  std::unique_ptr<Xrc> xrc_;
};

}  // namespace hawser::transport::verbs
