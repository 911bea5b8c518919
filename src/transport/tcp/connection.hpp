// Connection: records over one connection with a peer, after the handshake.
//
// What is to be sent waits in a queue while the socket is full, and leaves in as few system calls
// as there can be. Answers that are short and nobody waits for go along with the next frame, or
// with the next round of progress.
//
// Reads: either side may have parts of the other's memory sent, as far as that has exported it.
// They go from one program's memory to the other's, with no copy but the system's own: a chunk is
// behind all frames that waited when it was queued, and before those that come later. Ownership: a
// link's; borrows the services. Frames in its queue count as under way. Threads:   the lane lock.
// Bounds:    the queue holds frames of its link's share, once_max short ones that nobody keeps, one
//            record of its own at a time, an answer and chunks_max chunks to reads. At most
//            reads_max reads of each side are under way. A round of progress tells of
//            records_per_round_max, and sends flush_bytes_max.
// Invariant: it never ends by itself: what fails says so, and its owner ends it later, outside of
//            its own functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "transport/tcp/exported_memory.hpp"
#include "transport/tcp/link_services.hpp"
#include "transport/tcp/seal.hpp"

namespace hawser::transport::tcp {

class Connection final : public Polled {
 public:
  static constexpr std::uint32_t once_max = 32;
  static constexpr std::size_t once_bytes_max = 64;
  static constexpr int records_per_round_max = 64;
  static constexpr std::size_t reads_max = 4096;
  static constexpr std::size_t chunks_max = 4;
  static constexpr std::size_t flush_bytes_max = std::size_t{4} * 1024 * 1024;

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_record(Connection& by, RecordType type, std::span<const std::byte> body) = 0;
    /// It has failed: the owner looks at it soon.
    virtual void on_failed(Connection& connection) = 0;
    /// What the peer may read.
    [[nodiscard]] virtual const ExportedMemory& exported() const = 0;
    /// A read of this side's has ended: WAS_DONE, or it may have brought a part.
    virtual void on_read_done(std::uint64_t token, bool was_done) = 0;
  };
  /// A read of the peer's memory.
  struct Read {
    std::byte* to;  // where the next byte goes
    std::uint64_t left_bytes;
    std::uint64_t token;  // the owner's
  };
  /// The keys of each direction, where they are encrypted.
  struct Keys {
    SealKey to_peer{};
    SealKey from_peer{};
  };

  Connection(LinkServices& services, Owner& owner, platform::TcpSocket socket,
             const std::optional<Keys>& keys);
  ~Connection() override;

  /// Between which addresses it is.
  struct Path {
    IpAddress local;
    IpAddress remote;
    friend bool operator==(const Path&, const Path&) = default;
  };
  [[nodiscard]] const Path& path() const { return path_; }
  /// The number of the services' interface that it leaves by, as its addresses tell; nothing if it
  /// is none of them.
  [[nodiscard]] std::optional<std::size_t> interface() const { return interface_; }
  /// Of that interface; 0: nobody knows.
  [[nodiscard]] std::uint64_t bits_per_second() const {
    return interface_ ? services_.interfaces[*interface_].bits_per_second : 0;
  }
  /// Of frames that it was given last and that are not released: what its owner counted.
  [[nodiscard]] std::uint64_t kept_bytes() const { return kept_bytes_; }
  void note_kept(std::uint64_t bytes) { kept_bytes_ += bytes; }
  void note_released(std::uint64_t bytes) { kept_bytes_ -= std::min(bytes, kept_bytes_); }

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
  /// Has WHAT of the peer's memory sent to READ. False: not now.
  bool start(const ReadRequest& what, const Read& read);
  /// Reads that have not ended when the connection does.
  std::deque<Read> take_reads() { return std::exchange(reads_, {}); }

  /// The peer wants to read what its REQUEST says, the body of such a record.
  void answer(std::span<const std::byte> request);
  /// As much of what waits as the socket takes.
  void flush();
  /// The services have taken it from their list of those with something to send.
  void flush_unsent() {
    is_unsent_ = false;
    if (!is_blocked_) flush();
  }
  [[nodiscard]] bool is_flushed() const { return queue_.empty() && answers_.empty(); }
  [[nodiscard]] bool is_reading() const { return !reads_.empty(); }

  /// Takes what has come; true if there was anything.
  bool receive();
  /// All that has come although sending has failed: the peer may have said last words.
  void receive_rest();
  void on_ready(bool is_readable, bool is_writable) override;
  /// Whether the services are told when something has come. One that goes on bringing something is
  /// asked itself instead, in every round: then its host need not tell with each packet (0.15 us
  /// near, 0.2 far). It is watched again before anybody sleeps, or looks elsewhere.
  [[nodiscard]] bool is_watched() const { return is_watched_; }
  void watch();
  /// Nothing more is sent or told of.
  void fail(std::string why);

  /// Something is under way, and the peer's host answers nothing for TIMEOUT_S.
  [[nodiscard]] bool is_silent(std::uint32_t timeout_s) const {
    return socket_.is_silent(timeout_s);
  }
  /// Fails where it is. True: it was.
  bool fail_if_silent(std::uint32_t timeout_s);
  /// For tests: the connection breaks, as if by the network.
  void cut() { socket_.shut_down(); }

 private:
  /// A record, or what is left of one, that waits to be sent.
  struct Piece {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::byte* frame = nullptr;  // whose buffer it is in; null: `memory`, or what a key names
    std::uint32_t key = 0;       // of exported memory that it is a part of
    bool is_once = false;        // one of once_queued_
    std::array<std::byte, record_bytes(once_bytes_max, true)> memory{};
  };
  static constexpr std::size_t pieces_per_call = 16;
  /// A call takes pieces until it has as much: three chunks of data. With a megabyte at a time
  /// cubic and BBR let half as much pass, and with a quarter of it too.
  static constexpr std::size_t bytes_per_call = std::size_t{640} * 1024;
  /// In a row, after which it is not watched: to end that and to begin it costs a microsecond.
  static constexpr std::uint32_t receipts_until_alone = 64;
  /// Of a read's first bytes and what is behind them, so much is read to memory of its own and
  /// copied.
  static constexpr std::size_t read_beside_bytes = 4096;

  Piece& queue_small(RecordType type, std::span<const std::byte> body);
  void queue_answers();
  void queue_chunk(ReadRequest& what);
  [[nodiscard]] bool is_readable(const Piece& piece) const;
  std::size_t give(std::span<const iovec> pieces);
  void note_sent(std::size_t bytes);
  void set_blocked(bool is_blocked);
  void lose_queue();
  bool read();
  bool take_read(const platform::TcpSocket::Moved& moved);
  platform::TcpSocket::Moved read_more();
  void take_data(const RecordReader::Record& data);
  void note_data(std::size_t bytes);
  void end_refused();
  void fail_garbled();
  bool tell();
  void note_unsent();
  void note_received();
  void give_memory_back();

  LinkServices& services_;
  Owner& owner_;
  platform::TcpSocket socket_;
  const Path path_;
  const std::optional<std::size_t> interface_;
  std::uint64_t kept_bytes_ = 0;
  const std::uint32_t number_;
  std::uint64_t token_;
  std::optional<Seal> seal_;
  RecordReader reader_;
  memory::BufferPool::Buffer* staging_ = nullptr;
  std::deque<Piece> queue_;
  std::uint32_t once_queued_ = 0;
  std::size_t chunks_queued_ = 0;
  std::deque<ReadRequest> answers_;  // what the peer wants to read and is not in the queue yet
  std::deque<Read> reads_;           // of this side, in the order in which they are answered
  std::size_t rest_bytes_ = 0;       // of the data that is coming in, to the first of them
  bool is_blocked_ = false;          // the socket is full
  bool is_watched_ = true;
  bool is_unsent_ = false;   // in the services' list
  bool is_unread_ = false;   // likewise
  bool is_telling_ = false;  // of a record, which is in the memory that things are read to
  bool has_failed_ = false;
  bool is_garbled_ = false;  // what came makes no sense
  std::string failure_;
};

}  // namespace hawser::transport::tcp
