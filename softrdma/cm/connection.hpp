// Connection: one end of a connection, from the first request until nothing of it is on its way any
// more (InfiniBand Architecture Specification, volume 1, §12.9). It owns no clock: time is an
// argument.
//
//   active   idle ─ connect ─► request_sent ─ REP ─► reply_came ─ confirm (RTU) ─► established
//   passive  request_came ─ accept (REP) ─► reply_sent ─ RTU ─► established
//   both     established ─ disconnect (DREQ) ─► disconnect_sent ─ DREP ─► time_wait ─► over
//            established ─ DREQ ─► disconnect_came ─ disconnect (DREP) ─► time_wait ─► over
//            before that: ─ reject, REJ, timeout ─► over (who rejected: refused ─► over)
//
// A message that wants an answer is repeated, as often as the request says; an answer is given
// again when the question is.
//
// Ownership: borrows its host. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "softrdma/cm/event.hpp"
#include "softrdma/cm/message.hpp"
#include "softrdma/cm/repeated_message.hpp"

namespace softrdma::cm {

/// What becomes of a connection's doings.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual void send(const Message& message) = 0;
  virtual void on_event(const Event& event) = 0;
};

enum class State : std::uint8_t {
  idle,
  request_sent,
  request_came,
  reply_sent,
  reply_came,
  established,
  disconnect_sent,
  disconnect_came,
  time_wait,
  refused,  // we said no, and say so again if the request comes again
  over,
};

/// What its queue pair has to know.
struct QueuePairTerms {
  std::uint32_t peer = 0;              // the peer's queue pair
  std::uint32_t receive_sequence = 0;  // the first of each direction
  std::uint32_t send_sequence = 0;
  std::uint8_t path_mtu = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t not_ready_retry_count = 0;
  std::uint8_t ack_timeout = 0;
};

class Connection {
 public:
  Connection(std::uint32_t local_id, ConnectionHost& host) : local_id_(local_id), host_(host) {}

  // What the consumer wants. False: not in this state.
  /// REQUEST: all but the number of the connection.
  bool connect(const ConnectRequest& request, std::uint64_t now_ns);
  /// SEQUENCE: the first that is received; FROM a request that just came.
  void begin(const ConnectRequest& from, std::uint32_t sequence);
  /// REPLY: all but the numbers of the connection and the sequence.
  bool accept(const ConnectReply& reply, std::uint64_t now_ns);
  /// Of the active side: the queue pair is ready.
  bool confirm();
  /// Of the passive side: the peer is ready, as a packet from it says.
  bool note_established();
  bool reject(std::uint16_t why, std::span<const std::byte> private_data, std::uint64_t now_ns);
  bool disconnect(std::uint64_t now_ns);
  /// The consumer has no interest any more; the peer is told, and no events follow.
  void abandon(std::uint64_t now_ns);

  /// A message for this connection; which it is, its ids say.
  void on_message(const Message& message, std::uint64_t now_ns);
  void on_time(std::uint64_t now_ns);
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::uint32_t local_id() const { return local_id_; }
  [[nodiscard]] std::uint32_t remote_id() const { return remote_id_; }
  [[nodiscard]] const ConnectRequest& request() const { return request_; }
  /// As far as they are known in this state.
  [[nodiscard]] QueuePairTerms terms() const;

 private:
  void on(const ConnectRequest& request, std::uint64_t now_ns);
  void on(const Delay& delay, std::uint64_t now_ns);
  void on(const Rejection& rejection, std::uint64_t now_ns);
  void on(const ConnectReply& reply, std::uint64_t now_ns);
  void on(const ReadyToUse& ready, std::uint64_t now_ns);
  void on(const DisconnectRequest& request, std::uint64_t now_ns);
  void on(const DisconnectReply& reply, std::uint64_t now_ns);
  // They have no connection.
  void on(const ServiceRequest& /*request*/, std::uint64_t /*now_ns*/) {}
  void on(const ServiceReply& /*reply*/, std::uint64_t /*now_ns*/) {}

  void raise(const Event& event);
  void raise(EventType type, int status = 0);
  [[nodiscard]] std::uint64_t answer_wait_ns() const;
  void ask_for_time(Kind of);
  void send_rejection(std::uint16_t why, std::span<const std::byte> private_data);
  void send_disconnect_reply();
  void enter_time_wait(std::uint64_t now_ns);
  void finish() {
    waiting_.stop();
    state_ = State::over;
  }

  const std::uint32_t local_id_;
  ConnectionHost& host_;
  State state_ = State::idle;
  bool is_active_ = false;
  bool is_abandoned_ = false;
  std::uint32_t remote_id_ = 0;
  std::uint32_t receive_sequence_ = 0;
  ConnectRequest request_;  // ours or the peer's
  ConnectReply reply_;      // the other one's
  Rejection rejection_;     // of refused
  RepeatedMessage waiting_;
  std::uint64_t ends_ns_ = 0;  // of time_wait and refused
};

}  // namespace softrdma::cm
