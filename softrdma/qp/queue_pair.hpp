// QueuePair: its state and attributes, its queues, and whoever sends and receives for its type.
//
// Ownership: of its work queues; completion queues, shared receive queue, regions and host are
// borrowed and outlive it. Threads: the adapter's lock.
// Errors: as the verbs have them: 0, or an errno.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "softrdma/qp/congestion.hpp"
#include "softrdma/qp/context.hpp"
#include "softrdma/qp/datagram.hpp"
#include "softrdma/qp/direct.hpp"
#include "softrdma/qp/receive.hpp"
#include "softrdma/qp/rendezvous.hpp"
#include "softrdma/qp/requester.hpp"
#include "softrdma/qp/responder.hpp"
#include "softrdma/qp/target_state.hpp"
#include "softrdma/queue/completion_queue.hpp"
#include "softrdma/queue/shared_receive_queue.hpp"
#include "softrdma/queue/tag_matcher.hpp"
#include "softrdma/queue/work.hpp"

namespace softrdma::qp {

class QueuePair;

/// What the way to a peer allows.
struct Path {
  std::uint32_t segment_bytes = 0;             // of what is acknowledged
  std::uint32_t unreliable_segment_bytes = 0;  // of what is not
  std::uint32_t window_packets = 0;
  std::optional<wire::Address> host = std::nullopt;  // where it leads; nothing: to this one
};

/// A shared receive queue of XRC, as target queue pairs deliver into it.
struct ReceiveTarget {
  queue::SharedReceiveQueue* receives = nullptr;
  queue::CompletionQueue* completions = nullptr;
  std::uint32_t domain = 0;      // of protection: that of the queue is asked (IBA A14.3.2)
  std::uint32_t xrc_domain = 0;  // queue pairs of another one don't reach it
};

/// The adapter around a queue pair.
class QueuePairHost {
 public:
  virtual ~QueuePairHost() = default;
  virtual void raise(QueuePair& queue_pair, ibv_event_type event) = 0;
  /// Nothing if ADDRESS leads nowhere that is known.
  virtual std::optional<Path> path_to(const ibv_ah_attr& address, ibv_mtu mtu) = 0;
  /// Payload of a datagram on PORT, at most.
  virtual std::uint32_t datagram_bytes_max(std::uint8_t port) = 0;
  virtual ibv_wc_status bind(QueuePair& queue_pair, const queue::BindWork& work) = 0;
  /// Ends KEY, which the peer or the program asks for. False if it may not be ended so.
  virtual bool invalidate(QueuePair& queue_pair, std::uint32_t key) = 0;
  /// The receive queue of XRC with NUMBER; null if there is none.
  virtual const ReceiveTarget* receive_target(std::uint32_t number) = 0;
  /// Our turn to use XRC target queue pair NUMBER, which others may have, too: *state is as the
  /// last one left it. If it is shared, end_turn() follows.
  virtual Turn begin_turn(std::uint32_t /*number*/, TargetState* /*state*/) { return Turn::own; }
  virtual void end_turn(std::uint32_t /*number*/, const TargetState& /*state*/) {}
  /// Returns when nobody reads memory any more as the payload of a packet that was given out, nor
  /// will.
  virtual void withdraw_payloads() = 0;
  /// What QUEUE_PAIR lets its peer do by itself, from now on.
  virtual void open_to_peer(const PeerAccess& /*access*/, const ibv_ah_attr& /*peer*/) {}
  /// Nothing any more; nor does the peer when this returns.
  virtual void close_to_peer(std::uint32_t /*queue_pair*/) {}
  /// As RequesterListener::copy_directly(), to or from the one that QUEUE_PAIR is connected to.
  virtual bool copy_directly(const QueuePair& /*queue_pair*/, const DirectCopy& /*copy*/) {
    return false;
  }
  virtual std::uint64_t now_ns() = 0;
};

/// With what a queue pair is made. Pointers may be null where the type needs none.
struct QueuePairParts {
  std::uint32_t number = 0;
  std::uint32_t domain = 0;
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap{};
  bool signals_all = false;
  queue::CompletionQueue* send_completions = nullptr;
  queue::CompletionQueue* receive_completions = nullptr;
  queue::SharedReceiveQueue* shared_receives = nullptr;
  queue::TagMatcher* tags = nullptr;  // of the shared receives: messages have tags
  std::uint32_t xrc_domain = 0;
};

class QueuePair final : private RequesterListener,
                        private ResponderListener,
                        private ReceiveSource {
 public:
  QueuePair(const QueuePairParts& parts, const memory::RegionTable& regions, QueuePairHost& host);
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// ibv_modify_qp; EINVAL if the change of state does not exist, lacks an attribute or has one too
  /// many; EAGAIN if another process that has it does not let go of it.
  int modify(const ibv_qp_attr& attributes, int given);
  void query(ibv_qp_attr* attributes);

  /// Whether post_send() would take REQUEST, were there room: 0 or EINVAL.
  [[nodiscard]] int check_send(const ibv_send_wr& request, const ibv_ah_attr* address) const;
  [[nodiscard]] std::size_t free_sends() const;
  /// One work request, without its successors. EINVAL: the state, the type or the caps do not allow
  /// it; ENOMEM: the queue is full.
  int post_send(const ibv_send_wr& request, const ibv_ah_attr* address);
  int post_receive(const ibv_recv_wr& request);

  /// Who the next packet is for, if next() has one; nobody: it has none.
  [[nodiscard]] std::optional<Destination> destination();
  /// The next packet to send; false if there is none at NOW.
  bool next(std::uint64_t now_ns, Outgoing* out);
  /// False, and nothing happens, if ARRIVAL is from another host than the one that it is connected
  /// to: that has no say.
  bool on_arrival(const Arrival& arrival, std::uint64_t now_ns);
  void on_time(std::uint64_t now_ns);
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;
  /// Its owner puts it into error: a fault. False if another process that has it does not let go of
  /// it.
  bool fail();
  /// Tells the host again what its peer may do by itself, if there is anything.
  void open_to_peer();

  /// Of what it has sent; nothing of a type without connection.
  [[nodiscard]] Requester::Counters counters() const {
    const auto* const connected = std::get_if<Connected>(&halves_);
    return connected == nullptr ? Requester::Counters{} : connected->requester.counters();
  }
  [[nodiscard]] std::uint32_t number() const { return context_.number; }
  [[nodiscard]] ibv_qp_type type() const { return parts_.type; }
  [[nodiscard]] ibv_qp_state state() const { return state_; }
  /// Of a connected one.
  [[nodiscard]] Destination peer() const { return {&attributes_.ah_attr, attributes_.dest_qp_num}; }
  [[nodiscard]] std::uint32_t xrc_domain() const { return parts_.xrc_domain; }
  /// 0 before it has one.
  [[nodiscard]] std::uint8_t port() const { return attributes_.port_num; }
  [[nodiscard]] std::uint32_t domain() const { return context_.domain; }
  [[nodiscard]] const Context& context() const { return context_; }

 private:
  class SharedTurn;
  void load(const TargetState& state);
  void save(TargetState* state) const;
  // Changes of state
  int change(const ibv_qp_attr& attributes, int mask);
  bool find_path(const ibv_ah_attr& address, ibv_mtu mtu);
  void use_attributes();
  bool take_attributes(const ibv_qp_attr& attributes, int mask);
  void enter(ibv_qp_state state);
  void enter_error();
  void reset();
  void close_to_peer();
  void flush_receives();
  // Posting
  [[nodiscard]] bool allows(const ibv_send_wr& request) const;
  void fill(queue::SendWork& work, const ibv_send_wr& request, const ibv_ah_attr* address);
  // RequesterListener
  void on_sent(const queue::SendWork& work, ibv_wc_status status) override;
  void on_send_failure() override;
  ibv_wc_status do_local(queue::SendWork& work) override;
  bool copy_directly(const DirectCopy& copy) override { return host_.copy_directly(*this, copy); }
  void on_drained() override;
  // ResponderListener
  void on_received(const Received& received) override;
  void on_established() override;
  void on_receive_failure(std::optional<ibv_event_type> event) override;
  bool invalidate(std::uint32_t key) override;
  void on_rendezvous(const Transfer& transfer) override;
  // ReceiveSource
  bool take_receive(std::uint32_t receive_queue, std::uint64_t* id,
                    std::vector<ibv_sge>* entries) override;

  [[nodiscard]] const ReceiveTarget* target(std::uint32_t receive_queue);
  bool on_target_request(const Arrival& arrival);
  void complete(queue::CompletionQueue* completions, const queue::Completion& completion);
  void flush_sends();

  QueuePairParts parts_;
  QueuePairHost& host_;
  ibv_qp_state state_ = IBV_QPS_RESET;
  ibv_qp_attr attributes_{};
  bool tells_when_drained_ = false;
  std::uint32_t changes_ = 0;  // of state and attributes
  CongestionNotices notices_;
  std::optional<wire::Address> peer_host_;  // of a connected one; nothing: this host
  Context context_;
  queue::SendQueue sends_;
  queue::ReceiveQueue receives_;
  std::unique_ptr<Rendezvous> rendezvous_;  // null without tags

  /// The two halves of a connected queue pair; of XRC there is one.
  struct Connected {
    Requester requester;
    Responder responder;
  };
  std::variant<std::monostate, Connected, Datagram> halves_;
};

}  // namespace softrdma::qp
