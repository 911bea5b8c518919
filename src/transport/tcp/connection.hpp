// Connection: records over one connection with a peer, after the handshake.
//
// What is to be sent waits in a queue while the socket is full, and leaves in as few system calls
// as there can be. Answers that are short and nobody waits for go along with the next frame, or
// with the next round of progress.
// Ownership: a link's; borrows the services. Frames in its queue count as under way.
// Threads:   the lane lock.
// Bounds:    the queue holds frames of its link's share, once_max short ones that nobody keeps, and
//            one record of its own at a time. A round of progress tells of records_per_round_max.
// Invariant: it never ends by itself: what fails says so, and its owner ends it later, outside of
//            its own functions.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "transport/tcp/link_services.hpp"
#include "transport/tcp/seal.hpp"

namespace hawser::transport::tcp {

class Connection final : public Polled {
 public:
  static constexpr std::uint32_t once_max = 32;
  static constexpr std::size_t once_bytes_max = 64;
  static constexpr int records_per_round_max = 64;

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_record(Connection& by, RecordType type, std::span<const std::byte> body) = 0;
    /// It has failed: the owner looks at it soon.
    virtual void on_failed(Connection& connection) = 0;
  };
  /// The keys of each direction, where they are encrypted.
  struct Keys {
    SealKey to_peer{};
    SealKey from_peer{};
  };

  Connection(LinkServices& services, Owner& owner, platform::TcpSocket socket,
             const std::optional<Keys>& keys);
  ~Connection() override;

  /// Unlike that of any other of this transport; never 0.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// Why; for people.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// Sends FRAME, of BYTES, which stays where it is until it has left. SEALED: a buffer for its
  /// encrypted copy, which is released when that has left; null where nothing is encrypted.
  void send(std::byte* frame, std::size_t bytes, std::byte* sealed);
  /// Sends a copy of a short FRAME soon. False: there is no room now.
  bool send_once(std::span<const std::byte> frame);
  /// Sends a record of TYPE without a body.
  void send_control(RecordType type);
  /// As much of what waits as the socket takes.
  void flush();
  /// The services have taken it from their list of those with something to send.
  void flush_unsent() {
    is_unsent_ = false;
    if (!is_blocked_) flush();
  }
  [[nodiscard]] bool is_flushed() const { return queue_.empty(); }

  /// Takes what has come; true if there was anything.
  bool receive();
  /// All that has come although sending has failed: the peer may have said last words.
  void receive_rest();
  void on_ready(bool is_readable, bool is_writable) override;
  /// Nothing more is sent or told of.
  void fail(std::string why);

  /// The peer's host answers nothing any more.
  [[nodiscard]] bool is_silent() const {
    return socket_.is_silent(static_cast<std::uint32_t>(services_.settings.timeout_s));
  }
  /// For tests: the connection breaks, as if by the network.
  void cut() { socket_.shut_down(); }

 private:
  /// A record, or what is left of one, that waits to be sent.
  struct Piece {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::byte* frame = nullptr;  // whose buffer it is in; null: `memory`
    std::array<std::byte, record_bytes(once_bytes_max, true)> memory{};
  };
  static constexpr std::size_t pieces_per_call = 16;

  void queue_small(RecordType type, std::span<const std::byte> body);
  void note_sent(std::size_t bytes);
  void set_blocked(bool is_blocked);
  void lose_queue();
  bool read();
  bool tell();
  void note_unsent();
  void give_memory_back();

  LinkServices& services_;
  Owner& owner_;
  platform::TcpSocket socket_;
  const std::uint32_t number_;
  std::uint64_t token_;
  std::optional<Seal> seal_;
  RecordReader reader_;
  memory::BufferPool::Buffer* staging_ = nullptr;
  std::deque<Piece> queue_;
  std::uint32_t once_queued_ = 0;
  bool is_blocked_ = false;  // the socket is full
  bool is_unsent_ = false;   // in the services' list
  bool is_unread_ = false;   // likewise
  bool has_failed_ = false;
  std::string failure_;
};

}  // namespace hawser::transport::tcp
