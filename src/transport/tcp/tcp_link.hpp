// TcpLink: one peer over TCP: one connection at a time, made anew when it breaks.
//
// Either side may connect. When both do at once, the connection that the process of the smaller
// identity has begun remains: that one holds the other's back until its own attempts have ended,
// while the larger one drops its own as soon as the smaller one's is there. A connection counts
// once the side that accepts it says so in its first record. A new one replaces one that this side
// still takes for whole, since the peer would not have begun it otherwise; but where this side has
// begun that, only after a while, as the peer's may be one that it has dropped meanwhile.
//
// Every frame stays in its buffer until it is released: what a broken connection carried is sent
// again by the layer above once there is another one.
// Ownership: owned by TcpTransport; borrows its services, owns what is the peer's alone.
// Threads:   the lane lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/tcp/connection.hpp"
#include "transport/tcp/dialer.hpp"
#include "transport/tcp/greeting.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::tcp {

inline constexpr std::string_view network_name = "tcp";

class TcpLink final : public Link, public Connection::Owner {
 public:
  TcpLink(LinkServices& services, const Identity& peer) : services_(services), peer_(peer) {}

  // For the transport:
  /// Where the peer is to be reached; connects to it unless it is connected, or tries to.
  void dial(const Address& address, std::uint64_t now_ns);
  /// The peer has come to us by CONNECTION, which does not count yet.
  void on_visit(std::unique_ptr<Connection> connection, std::uint64_t now_ns);
  /// Does what is due: from inside progress() alone.
  void serve(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// Notices a peer whose host is gone.
  void check_peer();
  void say(RecordType type);
  /// This process is there again.
  void come_back(std::uint64_t now_ns);
  [[nodiscard]] bool is_flushed() const { return !connection_ || connection_->is_flushed(); }
  /// The transport ends: its connection before all that it uses.
  void close();
  /// The layer above knows this link.
  bool is_announced = false;
  /// In the services' lists.
  bool is_changed = false;
  bool is_timed = false;

  [[nodiscard]] ChannelSet possible_channels() const override { return {ChannelKind::tcp}; }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override {
    return kind == ChannelKind::tcp ? tcp::frame_bytes_max : 0;
  }
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  [[nodiscard]] Rail rail() const override { return {network_name}; }
  void break_connection() override;
  [[nodiscard]] bool may_lose_frames() const override { return true; }
  bool send_once(ChannelKind kind, std::span<const std::byte> frame) override;
  Resent resend(ChannelKind kind, std::byte* frame, std::size_t bytes,
                bool may_be_damaged) override;
  [[nodiscard]] bool is_under_way(std::byte* frame) const override;
  void release(ChannelKind, std::byte* frame) override { SendBuffers::release(frame); }
  bool ask(ChannelKind) override { return true; }
  bool give_back(ChannelKind) override { return true; }
  bool recall(ChannelKind) override { return true; }
  void abandon() override;
  [[nodiscard]] bool is_away() const override { return is_away_ || is_abandoned_; }
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;
  /// For tests: its connection breaks, as if by the network.
  void cut() {
    if (connection_) connection_->cut();
  }

 private:
  /// How long the peer's connection is held back for one of ours.
  static constexpr std::uint64_t hold_ns = 2'000'000'000;
  /// Who can't connect itself leaves the peer that much time, in timeouts, to notice.
  static constexpr std::uint64_t timeouts_passive = 2;

  /// An attempt to reach the peer: a caller, then the connection that the peer is to confirm.
  struct Attempt {
    std::size_t candidate;
    std::unique_ptr<Caller> caller;
    std::unique_ptr<Connection> proven;
  };

  void on_record(Connection& by, RecordType type, std::span<const std::byte> body) override;
  void on_failed(Connection& connection) override;
  void on_record_of_attempt(Connection& by, RecordType type);
  void note_changed();
  void note_timed();
  void end_broken(std::uint64_t now_ns);
  void look_for_peer(std::uint64_t now_ns);
  void serve_attempts(std::uint64_t now_ns);
  /// True if it has ended.
  bool serve_attempt(Attempt& attempt, std::uint64_t now_ns);
  void follow_dialer(std::uint64_t now_ns);
  void start_attempt(std::size_t candidate, std::uint64_t now_ns);
  void serve_held(std::uint64_t now_ns);
  void confirm(std::unique_ptr<Connection> connection);
  void adopt(std::unique_ptr<Connection> connection, bool is_ours);
  /// What we have begun ourselves is there, or may be soon.
  [[nodiscard]] bool holds_back() const;
  void lose(std::string_view cause);
  void stop_dialing();
  [[nodiscard]] bool is_dialing() const { return dialer_ && dialer_->is_dialing(); }
  std::byte* reserve_now(std::size_t bytes);

  LinkServices& services_;
  const Identity peer_;
  SendBuffers::Share share_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connection> held_;  // the peer's
  std::uint64_t held_until_ns_ = never_ns;
  std::optional<Dialer> dialer_;  // once the peer's address is known
  std::vector<Attempt> attempts_;
  std::uint64_t passive_until_ns_ = never_ns;  // how long the peer has to connect again
  std::byte* reserved_ = nullptr;
  std::byte* sealed_ = nullptr;  // for the copy of `reserved_`
  std::size_t reserved_bytes_ = 0;
  bool is_ours_ = false;  // we have begun `connection_`
  bool is_away_ = false;
  bool is_abandoned_ = false;
};

}  // namespace hawser::transport::tcp
