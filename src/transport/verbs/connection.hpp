// Connection: two reliable queue pairs with one peer: one of high priority for short frames,
// control messages and fast paths, one of low priority for long frames and operations on memory.
// What goes by one overtakes what goes by the other.
//
// A connection that broke (an error of a queue pair, or of posting to it) takes nothing more; what
// was not reported by then may have arrived or not.
// Ownership: owns the queue pairs; borrows the queues they receive from and the frames they send.
//            When it ends, all that is under way counts as ended.
// Threads:   the lane lock.
// Bounds:    verbs.rc_queue_depth requests under way in each queue pair.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.hpp"
#include "transport/verbs/posted_work.hpp"
#include "transport/verbs/reliable_queues.hpp"
#include "transport/verbs/send_buffers.hpp"

namespace hawser::transport::verbs {

class Connection {
 public:
  enum Priority : std::uint8_t { high, low };
  /// Told of what ended.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_operation_ended(std::uint64_t token, bool was_done) = 0;
    /// BYTES came by it, or, as COMPLETION says, an error.
    virtual void on_received(Connection& connection, const ibv_wc& completion,
                             std::span<const std::byte> bytes) = 0;
    /// It takes nothing more. Called in the middle of anything: to be acted upon later.
    virtual void on_broken() = 0;
  };

  /// NUMBER: differs from those of all other connections of the transport, and from 0. Null where
  /// the adapter refuses more queue pairs.
  static std::unique_ptr<Connection> make(ReliableQueues& queues, SendBuffers& buffers,
                                          std::uint32_t number, Owner& owner);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] Owner& owner() const { return owner_; }
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  /// Fills in what the peer needs to know of this side.
  void describe(ConnectionMessage& message) const;
  /// Connects both queue pairs with those of PEER. False if the adapter refuses.
  bool connect(const ConnectionMessage& peer);

  /// Frames of high priority that the peer may have on their way to us.
  [[nodiscard]] std::uint32_t receive_window() const;
  /// The same of ours to the peer, as it said when it connected.
  [[nodiscard]] std::uint32_t send_window() const { return send_window_; }
  /// Of the longest frame that the peer takes by a queue pair of PRIORITY.
  [[nodiscard]] std::size_t frame_bytes_max(Priority priority) const {
    return frame_bytes_max_[priority];
  }
  [[nodiscard]] bool has_room(Priority priority) const {
    return work_[priority].room() > reserved_for_control;
  }
  /// Posts FRAME of BYTES; by high priority if it is short.
  void send(std::byte* frame, std::size_t bytes);
  /// Posts BODY with KIND as immediate data. False: no room now.
  bool send_control(std::uint32_t kind, std::span<const std::byte> body);
  /// Writes the first BYTES from FRAME on into the peer's memory.
  void write(std::byte* frame, std::size_t bytes, std::uint64_t to, std::uint32_t key);

  /// Writes WORD into the peer's memory. False: no room now.
  bool write_word(std::uint32_t word, std::uint64_t to, std::uint32_t key);

  /// See Link::start(). What is chained stays here until flush().
  bool start(const Operation& operation);
  /// Posts what is chained, and FRAME behind it if there is one.
  void flush(std::byte* frame, std::size_t bytes);

  /// A request that we posted has ended.
  void on_sent(const ibv_wc& completion);
  void break_now();
  /// Has the end of everything that is under way reported; true once it was.
  bool drain();

 private:
  static constexpr std::size_t reserved_for_control = 4;

  Connection(ReliableQueues& queues, SendBuffers& buffers, std::uint32_t number, Owner& owner);
  [[nodiscard]] Priority priority_of(std::size_t frame_bytes) const {
    return frame_bytes <= frame_bytes_max_[high] ? high : low;
  }
  bool make_ready(Priority priority);
  bool connect(Priority priority, const ConnectionMessage& peer);
  void post(Priority priority, ibv_send_wr request, ibv_sge piece, const Posted& posted);
  [[nodiscard]] unsigned report_flag(Priority priority) const;
  void end(const Posted& posted, bool was_done);
  void end_all(PostedWork& work);

  ReliableQueues& queues_;
  SendBuffers& buffers_;
  const std::uint32_t number_;
  Owner& owner_;
  std::array<QueuePair, 2> queue_pairs_;
  std::array<std::uint32_t, 2> first_packets_{};
  std::array<std::size_t, 2> frame_bytes_max_{};
  std::uint32_t send_window_ = 1;
  std::array<PostedWork, 2> work_;
  std::array<bool, 2> has_marked_{};  // the end of its work with a request of its own
  bool is_broken_ = false;

  /// Operations and the frame behind them that are not posted yet.
  struct Chained {
    ibv_send_wr request{};
    ibv_sge piece{};
    Posted posted;
  };
  std::vector<Chained> chain_;
};

}  // namespace hawser::transport::verbs
