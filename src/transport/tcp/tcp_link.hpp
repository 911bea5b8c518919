// TcpLink: one peer over TCP: a connection, made anew when it breaks, and further ones beside it by
// other interfaces (FurtherConnections).
//
// Either side may connect. When both do at once, the connection that the process of the smaller
// identity has begun remains: that one holds the other's back until its own attempts have ended,
// while the larger one drops its own as soon as the smaller one's is there. A connection counts
// once the side that accepts it says so in its first record. A new one replaces one that this side
// still takes for whole, since the peer would not have begun it otherwise; but where this side has
// begun that, only after a while, as the peer's may be one that it has dropped meanwhile.
//
// Long frames go by the connection that has least under way. What one that breaks has carried is
// sent again by the others; which is the first one, each side decides for itself, and another takes
// its place.
//
// Long messages are read out of the sender's memory (channel tcp_zero_copy), unless everything is
// encrypted. What was not read whole when the connection breaks ends as not done.
//
// Every frame stays in its buffer until it is released: what a broken connection carried is sent
// again by the layer above once there is another one.
//
// At rest (Rest) it has no connection, and nobody misses it: for the layer above it is as if there
// were no room, until it is to send something and connects again.
// Ownership: owned by TcpTransport; borrows its services, owns what is the peer's alone.
// Threads:   the lane lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/tcp/attempts.hpp"
#include "transport/tcp/connection.hpp"
#include "transport/tcp/further_connections.hpp"
#include "transport/tcp/rest.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::tcp {

inline constexpr std::string_view network_name = "tcp";

class TcpLink final : public Link, public Connection::Owner {
 public:
  TcpLink(LinkServices& services, const Identity& peer)
      : services_(services),
        peer_(peer),
        further_(services, *this, peer, [this] { note_changed(); }) {}

  // For the transport:
  /// Where the peer is to be reached; connects to it unless it is connected, or tries to.
  void dial(const Address& address, std::uint64_t now_ns);
  /// The peer has come to us by CONNECTION, which does not count yet.
  void on_visit(std::unique_ptr<Connection> connection, std::uint64_t now_ns);
  /// The same with one more, beside one that the peer has.
  void on_further_visit(std::unique_ptr<Connection> connection, std::uint64_t now_ns);
  /// Does what is due: from inside progress() alone.
  void serve(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// Notices a peer whose host is gone, and a connection that nobody uses.
  void check_peer(std::uint64_t now_ns);
  /// Asks the peer to do without the connection, where can_rest(), and does without it a while
  /// later even if the peer has not answered.
  void rest_soon(std::uint64_t now_ns);
  /// Nothing is under way, and the connection could be made again.
  [[nodiscard]] bool can_rest();
  /// Of all links of the transport the one with the least was used least recently.
  [[nodiscard]] std::uint64_t last_use() const { return last_use_; }
  void say(RecordType type);
  /// This process is there again.
  void come_back(std::uint64_t now_ns);
  [[nodiscard]] bool is_flushed() const {
    return (!connection_ || connection_->is_flushed()) && further_.are_flushed();
  }
  /// Connections with the peer now.
  [[nodiscard]] std::size_t connections() const { return (connection_ ? 1 : 0) + further_.count(); }
  /// The transport ends: its connection before all that it uses.
  void close();
  /// The layer above knows this link.
  bool is_announced = false;
  /// In the services' lists.
  bool is_changed = false;
  bool is_timed = false;

  [[nodiscard]] ChannelSet possible_channels() const override {
    if (services_.side.encrypts) return {ChannelKind::tcp};
    return {ChannelKind::tcp, ChannelKind::tcp_zero_copy};
  }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override {
    return kind == ChannelKind::tcp ? tcp::frame_bytes_max : 0;
  }
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  [[nodiscard]] Rail rail() const override { return {network_name}; }
  void break_connection() override;
  [[nodiscard]] bool may_lose_frames() const override { return true; }
  bool send_once(ChannelKind kind, std::span<const std::byte> frame) override;
  [[nodiscard]] bool sends_once_along() const override { return true; }
  Resent resend(ChannelKind kind, std::byte* frame, std::size_t bytes,
                bool may_be_damaged) override;
  [[nodiscard]] bool is_under_way(std::byte* frame) const override;
  void release(ChannelKind kind, std::byte* frame) override;
  bool ask(ChannelKind) override { return true; }
  bool give_back(ChannelKind) override { return true; }
  bool recall(ChannelKind) override { return true; }
  void abandon() override;
  [[nodiscard]] bool is_away() const override { return is_away_ || is_abandoned_; }
  [[nodiscard]] bool is_at_rest() const override {
    return rest_.is_resting() || (rest_.is_welcome() && is_idle());
  }
  void keep_in_touch(std::uint64_t until_ns) override;
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;
  Result<std::unique_ptr<HeldMemory>> hold(std::uint64_t address, std::size_t bytes) override;
  [[nodiscard]] bool is_registered(std::uint64_t, std::size_t) override { return true; }
  bool start(const Operation& operation) override;
  /// For tests: its first connection breaks, or one of the further ones, as if by the network.
  void cut(std::size_t which = 0) {
    if (which > 0) {
      further_.cut(which - 1);
    } else if (connection_) {
      connection_->cut();
    }
  }

 private:
  /// How long the peer's connection is held back for one of ours.
  static constexpr std::uint64_t hold_ns = 2'000'000'000;
  /// Who can't connect itself leaves the peer that much time, in timeouts, to notice.
  static constexpr std::uint64_t timeouts_passive = 2;

  /// How long a peer has to agree to the end of a connection whose room is needed.
  static constexpr std::uint64_t rest_patience_ns = 100'000'000;

  void on_record(Connection& by, RecordType type, std::span<const std::byte> body) override;
  void on_failed(Connection& connection) override;
  [[nodiscard]] const ExportedMemory& exported() const override { return exported_; }
  void on_read_done(std::uint64_t token, bool was_done) override;
  void on_record_of_attempt(Connection& by, RecordType type);
  /// Gives FRAME to the connection that is to carry it; see Connection::send().
  void send(std::byte* frame, std::size_t bytes, std::byte* sealed);
  /// The one that FRAME was given to last; null if that is gone.
  [[nodiscard]] Connection* connection_of(std::byte* frame) const;
  [[nodiscard]] bool is_in_use(const Connection& connection) const {
    return &connection == connection_.get() || further_.has(connection);
  }
  void note_changed();
  void note_timed();
  void end_broken(std::uint64_t now_ns);
  void end_connection();
  /// Another one takes the place of the first, if there is one.
  void replace_first();
  void fail_reads(const std::deque<Connection::Read>& reads);
  void settle_channels();
  void serve_further(std::uint64_t now_ns);
  void check_rails();
  /// The peer is worth further connections, and this side is the one that opens them.
  [[nodiscard]] bool has_earned_rails() const {
    return is_ours_ && services_.has_rails() && long_bytes_ >= LinkServices::rail_bytes_min;
  }
  /// A long frame of BYTES has left or come.
  void note_long(std::size_t bytes) {
    const bool had_earned = has_earned_rails();
    long_bytes_ += bytes;
    if (!had_earned && has_earned_rails()) note_changed();
  }
  void look_for_peer(std::uint64_t now_ns);
  void serve_held(std::uint64_t now_ns);
  void confirm(std::unique_ptr<Connection> connection);
  void adopt(std::unique_ptr<Connection> connection, bool is_ours);
  /// What we have begun ourselves is there, or may be soon.
  [[nodiscard]] bool holds_back() const;
  void lose(std::string_view cause);
  void stop_dialing();
  [[nodiscard]] Purpose purpose() const { return has_met_ ? Purpose::go_on : Purpose::begin; }
  [[nodiscard]] bool is_dialing() const { return attempts_ && attempts_->is_dialing(); }
  /// What it needs to connect by itself: asked for where the peer has come to us.
  bool knows_address();
  void prepare_to_dial(const Address& address);

  // Doing without a connection:
  [[nodiscard]] bool is_idle() const;
  void note_use() {
    last_use_ = ++services_.uses;
    rest_.on_use();
  }
  [[nodiscard]] bool is_awaited() const { return services_.clock() < awaited_until_ns_; }
  void ask_to_rest();
  void serve_rest(std::uint64_t now_ns);
  void go_to_rest();
  /// There is something to send.
  void wake();
  std::byte* reserve_now(std::size_t bytes);

  LinkServices& services_;
  const Identity peer_;
  SendBuffers::Share share_;
  ExportedMemory exported_;
  std::unique_ptr<Connection> connection_;  // the first one
  FurtherConnections further_;
  std::optional<Address> address_;  // of the peer, if it is known
  std::uint64_t long_bytes_ = 0;    // of frames to and from the peer that would go by any of them
  bool is_first_silent_ = false;
  std::unique_ptr<Connection> held_;  // the peer's
  std::uint64_t held_until_ns_ = never_ns;
  std::unique_ptr<Attempts> attempts_;         // once the peer's address is known
  std::uint64_t passive_until_ns_ = never_ns;  // how long the peer has to connect again
  std::byte* reserved_ = nullptr;
  std::byte* sealed_ = nullptr;  // for the copy of `reserved_`
  std::size_t reserved_bytes_ = 0;
  bool is_ours_ = false;  // we have begun `connection_`
  bool has_met_ = false;  // there was a connection
  bool is_away_ = false;
  bool is_abandoned_ = false;
  Rest rest_;
  bool is_wanted_ = false;      // at rest, and there is something to send
  std::uint64_t last_use_ = 0;  // of the services' count
  std::uint64_t seen_use_ = 0;  // at the last check
  std::uint64_t idle_since_ns_ = 0;
  std::uint64_t awaited_until_ns_ = 0;   // somebody waits for the peer
  std::uint64_t rest_by_ns_ = never_ns;  // whether the peer agrees or not
};

}  // namespace hawser::transport::tcp
