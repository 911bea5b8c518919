// ChannelBackend: MPI point-to-point over channels and host-side matching (Open MPI's OB1 in the
// terms of DESIGN §1).
//
// A send becomes frames on an endpoint (send.cpp); frames that arrive are matched and delivered
// (receive.cpp); data that did not come with its header is fetched (transfer.cpp), by RDMA where
// there is a connection for it (rdma.cpp), in part by another network at the same time
// (side_copies.cpp), or without copies by datagrams (zero_copy.cpp). What crosses outside of frames
// is checked where the user wants it (payload_check.cpp). Ownership: borrows the endpoint table;
// owns matching, pools and unexpected messages. Threads:   the lane lock. Bounds:    unexpected
// payload is credited per sender (credit_bytes); beyond it a sender keeps the
//            data itself. Payload of at most `free_payload_bytes` counts as part of its header, and
//            headers are bounded by memory alone (DESIGN §4).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "base/slot_map.hpp"
#include "channel/endpoint/endpoint_table.hpp"
#include "core/comm/comm_registry.hpp"
#include "memory/ledger/ledger.hpp"
#include "p2p/backend.hpp"
#include "p2p/match/match_engine.hpp"
#include "p2p/protocol/active_messages.hpp"
#include "p2p/protocol/protocols.hpp"
#include "p2p/protocol/requests.hpp"
#include "p2p/protocol/stored_message.hpp"
#include "p2p/protocol/stripes.hpp"
#include "p2p/protocol/wire.hpp"

namespace hawser::p2p {

/// What a user can set of the protocols ("p2p.*").
struct ProtocolSettings {
  std::int64_t credit_bytes = 1 << 20;             // unexpected eager payload per sender
  std::int64_t single_copy_chunk_bytes = 1 << 20;  // copied at a time, between other progress
  std::int64_t stream_bytes_max = 512 << 10;       // longer messages are asked for before they go
  bool rendezvous_inline = false;                  // its first frame takes data along
  std::string rdma = "get";                        // "get", "put" or "pipeline"
  bool rdma_chained = true;                        // its last frame is posted along with it
  std::int64_t pipeline_block_bytes = 1 << 20;     // of "pipeline"
  std::int64_t pipeline_depth = 4;                 // blocks that are written at a time, by a rail
  std::int64_t pipeline_eager_bytes = 64 << 10;    // by frames, while the first are registered
  bool pipeline_cache = true;                      // blocks stay registered
  std::int64_t stripe_bytes_min = 256 << 10;       // longer messages go by all rails
  bool stripe_networks = false;                    // and by another network, too
};

class ChannelBackend final : public Backend, public channel::FrameHandler {
 public:
  static constexpr std::size_t free_payload_bytes = 64;
  /// From here on it costs more to keep a message that nobody has asked for yet than to look a
  /// second time for what comes behind it.
  static constexpr std::size_t dear_payload_bytes = 512;
  static constexpr std::size_t refused_max = 1 << 16;

  ChannelBackend(channel::EndpointTable& endpoints, memory::Ledger& ledger,
                 const ProtocolSettings& settings);
  ~ChannelBackend() override;

  void set_threaded(bool threaded);
  /// COMMS: those of this process, which it tells of failures. Before any operation.
  void set_comms(core::CommRegistry& comms) { comms_ = &comms; }

  bool try_send(const ConstBuffer& buffer, const Envelope& envelope) override;
  Result<Ref<Request>> isend(const ConstBuffer& buffer, const Envelope& envelope,
                             SendMode mode) override;
  Taken try_recv(const Buffer& buffer, const Envelope& envelope, Status* status) override;
  Result<Ref<Request>> irecv(const Buffer& buffer, const Envelope& envelope) override;
  Request* try_irecv(const Buffer& buffer, const Envelope& envelope) override;
  Result<bool> iprobe(const Envelope& envelope, Status* status) override;
  Result<Ref<Message>> improbe(const Envelope& envelope) override;
  Result<Ref<Request>> imrecv(const Buffer& buffer, Ref<Message> message) override;
  bool progress() override;
  bool is_drained() override;
  void arm() override { endpoints_.arm(); }
  [[nodiscard]] std::uint64_t deadline_ns() const override { return endpoints_.deadline_ns(); }
  [[nodiscard]] bool has_work() const override {
    return !single_copies_.empty() || !side_copies_.empty() || !pipelines_.empty() ||
           !undecided_.empty() || !joint_copies_.empty() || !joint_parts_.empty();
  }
  Result<void> cancel(ReceiveRequest& request);
  Result<void> post(const Identity& peer, ActiveClass message_class,
                    std::span<const std::byte> message) override {
    return active_.post(peer, message_class, message);
  }
  void set_active_handler(ActiveClass message_class, const ActiveHandler& handler) override {
    active_.set_handler(message_class, handler);
  }
  void declare_dead(const Identity& process, const Identity& teller) override;
  void set_departure_handler(const DepartureHandler& handler) override {
    active_.set_departure_handler(handler);
  }
  [[nodiscard]] bool is_gone(const Identity& process) const override;
  void refuse(std::span<const std::uint32_t> contexts, Refusal what) override;
  void on_acknowledged(const Comm& comm) override;

  void on_frame(channel::Endpoint& from, channel::ChannelKind kind,
                std::span<const std::byte> frame) override;
  void on_frame_apart(channel::Endpoint& from, channel::ChannelKind kind,
                      const channel::FrameView& frame) override;
  bool on_turn(void* message) override;
  void on_lost(channel::Endpoint& endpoint) override;
  /// The senders that receives name, or the last probe that has found nothing; and the peers of
  /// transfers that have begun.
  bool for_each_awaited(const std::function<void(channel::Endpoint&)>& visit) override;
  void on_ended(const Identity& process) override;
  void on_forgotten(channel::Endpoint& endpoint) override;
  void on_operation_done(channel::Endpoint& peer, std::uint64_t token, bool was_done) override;
  void on_clearance(channel::Endpoint& peer, std::uint64_t token,
                    const transport::Clearance& clearance) override;

  // For statistics.
  [[nodiscard]] const base::SizeHistogram& sent_sizes() const { return sent_sizes_; }
  [[nodiscard]] std::uint64_t sends_by(SendProtocol protocol) const {
    return sends_[static_cast<std::size_t>(protocol)];
  }
  [[nodiscard]] std::uint64_t fetches_by(FetchProtocol protocol) const {
    return fetches_[static_cast<std::size_t>(protocol)];
  }
  [[nodiscard]] std::uint64_t zero_copy_failures() const { return zero_copy_failures_; }
  [[nodiscard]] std::uint64_t unexpected_messages() const { return unexpected_messages_; }
  /// Receives that wait for their message.
  [[nodiscard]] std::size_t posted_now() const { return match_.posted_count(); }
  /// Messages that wait for their receive.
  [[nodiscard]] std::size_t unexpected_now() const { return match_.unexpected_count(); }

 private:
  class ProbedMessage;
  /// Payload of one frame of a long message. What a frame costs both sides, a system call or a
  /// core's way to lines that it has not asked for yet, is as much as copying some KiB; beyond this
  /// length nothing is gained, and the other side waits.
  static constexpr std::size_t fragment_bytes = std::size_t{32} * 1024;
  /// To ask takes as long as to copy shorter messages a second time.
  static constexpr std::size_t asked_first_bytes_min = std::size_t{16} * 1024;
  /// What a sender without credit keeps to let its user go. Where a ring carries it, the receiver
  /// can have more in the time that the copy takes.
  static constexpr std::size_t kept_by_ring_bytes_max = std::size_t{8} * 1024;

  /// A stream that is coming in, to one of the two.
  struct Stream {
    channel::Endpoint* from;
    std::uint64_t token;  // the sender's
    ReceiveRequest* request;
    StoredMessage* stored;
  };

  /// Gives up the backend's reference.
  void let_go(const Request& request) const {
    if (threaded_) {
      request.release();
    } else {
      request.release_unshared();
    }
  }

  /// Sends PEER a frame that has but MESSAGE, now or later.
  template <class T>
  void tell(channel::Endpoint& peer, wire::FrameClass frame_class, const T& message) {
    peer.send(static_cast<std::uint8_t>(frame_class),
              sizeof(channel::FramePrefix) + sizeof(message),
              [&](std::byte* body) { wire::put(body, message); });
    endpoints_.note_waiting(peer);
  }

  // send.cpp
  channel::Endpoint& endpoint_of(const Envelope& envelope);
  channel::Endpoint& find_endpoint(Comm& comm, int peer);
  channel::Endpoint* sound_endpoint(Comm& comm, int peer);
  SendSituation assess(const channel::Endpoint& endpoint, channel::ChannelKind kind,
                       std::size_t bytes, SendMode mode) const;
  static std::size_t eager_room(const channel::Endpoint& endpoint, channel::ChannelKind kind);
  [[nodiscard]] static bool is_asked_first(const channel::Endpoint& endpoint,
                                           channel::ChannelKind kind, std::size_t bytes);
  [[nodiscard]] bool is_streamed(const channel::Endpoint& endpoint, channel::ChannelKind kind,
                                 std::size_t bytes) const;
  bool start(SendRequest& request);
  std::uint64_t enlist(SendRequest& request);
  void strike_out(SendRequest& request);
  bool start_stream(SendRequest& request, channel::ChannelKind kind);
  bool send_eager(channel::Endpoint& endpoint, channel::ChannelKind kind, const ConstBuffer& buffer,
                  const Envelope& envelope, std::size_t bytes);
  bool start_rendezvous(SendRequest& request, channel::ChannelKind kind,
                        const SendSituation& situation, SendProtocol protocol, bool keep_copy);
  void keep_data(SendRequest& request);
  /// A message of BYTES has begun; COUNTED of them are by now, and UNASKED come without being asked
  /// for.
  void note_sent(channel::Endpoint& endpoint, channel::ChannelKind kind, std::size_t bytes,
                 std::size_t counted, std::size_t unasked, SendProtocol protocol);

  // receive.cpp
  channel::Endpoint* known_endpoint(Comm& comm, int peer);
  ReceiveRequest& begin_receive(const Buffer& buffer, const Envelope& envelope);
  void take_frame(channel::Endpoint& from, channel::ChannelKind kind, channel::FrameView frame);
  void on_eager(channel::Endpoint& from, channel::ChannelKind kind, channel::FrameView body);
  /// What try_recv() does with the next frame of a channel of this kind. CAPACITY: BUFFER's bytes.
  template <channel::ChannelKind kind>
  Taken take_from(channel::Endpoint& from, const Buffer& buffer, std::uint64_t capacity,
                  const Envelope& envelope, Status* status);
  [[gnu::noinline]] Taken take_stored(StoredMessage& message, const Buffer& buffer,
                                      std::uint64_t capacity, Status* status);
  [[gnu::noinline]] Taken take_from_fast_path(channel::Endpoint& from, const Buffer& buffer,
                                              std::uint64_t capacity, const Envelope& envelope,
                                              Status* status);
  [[gnu::noinline]] void on_other_frame(channel::Endpoint& from, channel::ChannelKind kind,
                                        wire::FrameClass frame_class,
                                        const channel::FrameView& body);
  void on_arrival(channel::Endpoint& from, channel::ChannelKind kind, wire::FrameClass frame_class,
                  const channel::FrameView& body);
  [[gnu::noinline]] void store_unexpected(channel::Endpoint& from, const MatchKey& key,
                                          wire::FrameClass frame_class,
                                          const wire::RendezvousHeader& rendezvous,
                                          std::span<const std::byte> payload);
  void deliver_first(ReceiveRequest& request, channel::Endpoint& from, const MatchKey& key,
                     std::uint64_t total, std::span<const std::byte> payload);
  void deliver(ReceiveRequest& request, channel::Endpoint& from, const MatchKey& key,
               const wire::RendezvousHeader& rendezvous, wire::FrameClass frame_class,
               std::span<const std::byte> payload);
  std::unique_ptr<StoredMessage> take_out(UnexpectedMessage& message) {
    match_.remove(message);
    return std::unique_ptr<StoredMessage>(static_cast<StoredMessage*>(&message));
  }
  void deliver_stored(ReceiveRequest& request, std::unique_ptr<StoredMessage> message);
  /// Nobody needs MESSAGE any more, which is not in matching.
  void recycle(std::unique_ptr<StoredMessage> message) {
    ledger_.refund(memory::Account::unexpected, message->kept_bytes());
    stored_messages_.give_back(std::move(message));
  }
  /// The same with one whose stream may still be coming in.
  void discard(std::unique_ptr<StoredMessage> message);
  void drop_stored(StoredMessage& message);
  void give_up(ReceiveRequest& posted, base::Error error);
  void forget_stream(const StoredMessage& message);
  void return_credit(channel::Endpoint& from, std::size_t payload_bytes);

  // failures.cpp
  using Trouble = std::optional<base::Error>;
  /// Why an operation in COMM can't be begun; nothing if it can.
  [[nodiscard]] Trouble trouble_of(const Comm& comm, Traffic traffic) const {
    if (comm.is_sound()) [[likely]]
      return std::nullopt;
    return find_trouble(comm, traffic);
  }
  [[nodiscard]] Trouble find_trouble(const Comm& comm, Traffic traffic) const;
  /// Of a member of COMM that has died: which one it is, and what is known of its end.
  [[nodiscard]] std::string death_in(const Comm& comm) const;
  /// Why nothing will come for a receive or a probe; nothing if something may. With any source and
  /// failures that the user has not acknowledged: MPIX_ERR_PROC_FAILED_PENDING.
  [[nodiscard]] Trouble hopelessness(const Comm& comm, int source, Traffic traffic) const {
    if (!has_departures_ && comm.is_sound()) [[likely]]
      return std::nullopt;
    return find_hopelessness(comm, source, traffic);
  }
  /// A probe for SOURCE has found nothing, and may be repeated until it does.
  void note_probe(const Comm& comm, int source);
  [[nodiscard]] Trouble find_hopelessness(const Comm& comm, int source, Traffic traffic) const;
  [[nodiscard]] Trouble departure_of(const Comm& comm, int source) const;
  void judge(ReceiveRequest& posted);
  void judge_posted();
  void note_departure(const Departure& departure);
  void refuse_stored(StoredMessage& message);
  void refuse(channel::Endpoint& from, wire::FrameClass frame_class,
              const wire::RendezvousHeader& rendezvous, std::size_t payload_bytes);
  [[nodiscard]] bool is_refused(const MatchKey& key) const {
    return !refused_.empty() && std::ranges::binary_search(refused_, key.context);
  }
  void on_refused(const channel::Endpoint& from, std::span<const std::byte> body);

  // transfer.cpp
  void fetch(ReceiveRequest& request);
  [[nodiscard]] static bool is_decided_later(const ReceiveRequest& request);
  void fetch_now(ReceiveRequest& request);
  void fetch_undecided();
  void fetch_undecided(const channel::Endpoint& from);
  /// Of long messages between this process and a peer.
  enum class Flow : std::uint8_t { from_peer, both_ways, perhaps_both_ways };
  static Flow note_flow(channel::Endpoint& from);
  void ask_for_frames(ReceiveRequest& request);
  static void choose_copy(const ReceiveRequest& request, FetchSituation& situation);
  static bool is_copied_in_runs(const ReceiveRequest& request);
  bool push_single_copies();
  bool copy_chunk(ReceiveRequest& request);
  void complete_fetch(ReceiveRequest& request);
  void on_clear_to_send(channel::Endpoint& from, std::span<const std::byte> body);
  void on_data(channel::Endpoint& from, channel::ChannelKind kind, channel::FrameView body);
  void complete_by_frames(ReceiveRequest& request);
  void on_finished(channel::Endpoint& from, std::span<const std::byte> body);
  bool push_pipelines();
  /// In a call after which the program may compute for long, or in a round of progress, which can
  /// put off what had better go after the next look at the channel.
  enum class Pushing : std::uint8_t { at_once, patiently };
  bool push_pipeline(SendRequest& request, Pushing how);
  bool push_fragment(SendRequest& request);
  std::vector<Stream>::iterator find_stream(const channel::Endpoint& from, std::uint64_t token);
  void follow_stream(ReceiveRequest& request);
  void on_stream_data(channel::Endpoint& from, channel::FrameView body);
  void complete_send(SendRequest& request);

  // rdma.cpp
  /// An operation on memory that is under way: a receive's, or a send's.
  struct Transfer {
    channel::Endpoint* peer;
    ReceiveRequest* receive;
    SendRequest* send;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::unique_ptr<transport::HeldMemory> held;
    bool is_chained;
    std::uint64_t token;
    // Without copies (zero_copy.cpp):
    bool is_direct = false;
    std::uint64_t peer_token = 0;  // the receiver's, of a part that goes to it
    transport::Link* link = nullptr;
  };
  wire::RendezvousHeader offer(SendRequest& request, channel::ChannelKind kind);
  /// Whose operations by KIND are gets: over TCP there are no others.
  [[nodiscard]] bool is_read(channel::ChannelKind kind) const {
    return kind == channel::ChannelKind::tcp_zero_copy || settings_.rdma == "get";
  }
  /// The channel of PEER's that has operations, or would have.
  static channel::ChannelKind operations_channel(const channel::Endpoint& peer) {
    using channel::ChannelKind;
    return peer.has(ChannelKind::tcp_zero_copy) ? ChannelKind::tcp_zero_copy : ChannelKind::rc_rdma;
  }
  [[nodiscard]] bool can_use_operations(const ReceiveRequest& request, wire::Offer wanted) const;
  [[nodiscard]] StripeRails rails_for(const channel::Endpoint& peer, std::uint64_t bytes,
                                      std::uint32_t offered) const;
  void start_get(ReceiveRequest& request);
  void start_get_of_all(ReceiveRequest& request, transport::Link& link);
  void start_pieces(ReceiveRequest& request, StripeRails rails);
  bool start_piece(ReceiveRequest& request, transport::Link& link, std::uint64_t offset,
                   std::uint64_t bytes);
  void end_pieces(ReceiveRequest& request);
  bool launch(std::unique_ptr<Transfer> transfer, transport::Link& link,
              transport::Operation operation, wire::FrameClass last,
              std::span<const std::byte> body);
  bool launch(std::unique_ptr<Transfer> transfer, transport::Link& link,
              transport::Operation operation);
  void note(Transfer& transfer, transport::Operation& operation);
  void end_get(const Transfer& transfer, bool was_done);
  void start_put(ReceiveRequest& request);
  [[nodiscard]] bool is_registered(const ReceiveRequest& request) const;
  Result<std::unique_ptr<transport::HeldMemory>> hold_block(transport::Link& link,
                                                            std::uint64_t address,
                                                            std::uint64_t bytes) const;
  void offer_block(ReceiveRequest& request, transport::Link& link, std::uint64_t bytes,
                   std::unique_ptr<transport::HeldMemory> held);
  void offer_blocks(ReceiveRequest& request);
  bool offer_next_block(ReceiveRequest& request);
  [[nodiscard]] StripeRails rails_for_blocks(const ReceiveRequest& request) const;
  void on_clear_to_put(channel::Endpoint& from, std::span<const std::byte> body);
  void write_block(SendRequest& request, const wire::ClearToPut& block);
  void end_put(const Transfer& transfer, bool was_done);
  void send_by_frames(SendRequest& request, std::uint64_t offset, std::uint64_t bytes);
  void on_put_done(channel::Endpoint& from, std::span<const std::byte> body);
  void store_block_data(ReceiveRequest& request, std::uint64_t offset,
                        std::span<const std::byte> data);
  void end_block(ReceiveRequest& request, std::vector<PutBlocks::Block>::iterator block);
  void abandon_transfers(const channel::Endpoint& lost);

  // payload_check.cpp
  void note_checksum(SendRequest& request, channel::ChannelKind kind) const;
  static bool can_check(const ReceiveRequest& request, channel::ChannelKind kind);
  static void begin_check(ReceiveRequest& request);
  void check_copied(ReceiveRequest& request, std::span<const transport::MemoryPiece> pieces,
                    std::uint64_t bytes);
  static bool is_copy_right(const ReceiveRequest& request);
  bool is_right(channel::Endpoint& from, std::span<std::byte> data, std::uint32_t checksum);
  bool is_fetched_right(ReceiveRequest& request);
  static wire::PutDone put_done(const SendRequest& request, const Transfer& transfer);
  bool is_block_right(ReceiveRequest& request, const PutBlocks::Block& block,
                      const wire::PutDone& done);
  void ask_for_block(ReceiveRequest& request, PutBlocks::Block& block);

  // side_copies.cpp
  /// A part of a message that is copied by the link beside that in use, between other progress.
  struct SideCopy {
    ReceiveRequest* request;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t done = 0;  // of them
  };
  /// So long a message is shared out among networks, if there are several to its peer.
  [[nodiscard]] bool is_for_networks(std::uint64_t message_bytes) const {
    return settings_.stripe_networks &&
           message_bytes >= static_cast<std::uint64_t>(settings_.stripe_bytes_min);
  }
  /// Frames behind the header count what is in them; see also is_counted_in_parts.
  [[nodiscard]] bool comes_in_parts(const wire::RendezvousHeader& offered) const {
    return may_come_in_frames(offered.offer) || is_counted_in_parts(offered);
  }
  /// What is OFFERED is counted as received where and when it comes.
  [[nodiscard]] bool is_counted_in_parts(const wire::RendezvousHeader& offered) const {
    return is_for_networks(offered.total) &&
           (offered.offer == wire::Offer::get || offered.offer == wire::Offer::put);
  }
  static bool is_checked_as_whole(const channel::Endpoint& peer);
  [[nodiscard]] transport::Link* side_link_for(const ReceiveRequest& request) const;
  void add_side_link(const ReceiveRequest& request, StripeRails& rails) const;
  void copy_piece(ReceiveRequest& request, std::uint64_t offset, std::uint64_t bytes);
  void copy_block(ReceiveRequest& request, std::uint64_t bytes);
  bool push_side_copies();
  bool push_side_copy(SideCopy& copy);
  void end_side_copy(const SideCopy& copy);
  void end_copied_piece(const SideCopy& copy);
  void end_copied_block(const SideCopy& copy);
  void abandon_side_copies(const channel::Endpoint& lost);

  // joint_copies.cpp
  /// A half of a message that this process writes into its receiver's memory.
  struct JointPart {
    SendRequest* request;  // null: it is over
    transport::JointCopies* copies;
    wire::JoinCopy asked;
    std::uint64_t done = 0;  // of its bytes
    std::uint64_t ns = 0;
  };
  static bool is_copied_jointly(const ReceiveRequest& request);
  void start_joint_copy(ReceiveRequest& request);
  void offer_half(ReceiveRequest& request);
  bool copy_own_halves();
  static void wait_for_half(JointCopy& joint);
  static void take_over(JointCopy& joint);
  void end_joint_copy(ReceiveRequest& request);
  void on_part_copied(channel::Endpoint& from, std::span<const std::byte> body);
  void on_join_copy(channel::Endpoint& from, std::span<const std::byte> body);
  bool copy_parts();
  void end_part(JointPart& part);
  bool push_joint_copies();
  void abandon_joint_copies(const channel::Endpoint& lost);

  // zero_copy.cpp
  [[nodiscard]] static bool can_expect(const ReceiveRequest& request);
  void start_zero_copy(ReceiveRequest& request);
  bool expect(ReceiveRequest& request, std::unique_ptr<transport::HeldMemory> held);
  void clear_to_cross(const Transfer& transfer, const transport::Clearance& clearance);
  void on_clear_to_cross(channel::Endpoint& from, std::span<const std::byte> body);
  bool send_part(SendRequest& request, const wire::ClearToCross& clear,
                 std::span<const std::byte> clearance);
  void on_not_crossed(channel::Endpoint& from, std::span<const std::byte> body);
  void end_direct(const Transfer& transfer, bool was_done);
  void end_part(const Transfer& transfer, bool has_left);
  void abandon_direct(Transfer& transfer);

  channel::EndpointTable& endpoints_;
  memory::Ledger& ledger_;
  const ProtocolSettings settings_;
  bool threaded_ = false;
  MatchEngine match_;
  RequestPool<SendRequest> send_pool_;
  RequestPool<ReceiveRequest> receive_pool_;
  base::SlotMap<SendRequest> sends_in_rendezvous_;
  base::SlotMap<ReceiveRequest> receives_by_frames_;
  std::vector<SendRequest*> pipelines_;         // with data frames to send
  std::vector<ReceiveRequest*> single_copies_;  // with chunks to copy
  std::vector<ReceiveRequest*> undecided_;  // to be fetched with the next send to their source, or
                                            // in the next round of progress
  std::vector<SideCopy> side_copies_;       // with chunks to copy
  std::vector<ReceiveRequest*> joint_copies_;  // that are not over
  std::vector<JointPart> joint_parts_;         // with chunks to copy
  std::vector<Stream> streams_;                // that are coming in
  base::SlotMap<Transfer> transfers_;
  channel::BitFlipper flipper_;  // of payload that crosses outside of frames
  base::SizeHistogram sent_sizes_;
  std::array<std::uint64_t, send_protocols.size()> sends_{};
  std::array<std::uint64_t, fetch_protocols.size()> fetches_{};
  std::uint64_t zero_copy_failures_ = 0;  // of such fetches
  std::uint64_t unexpected_messages_ = 0;
  core::CommRegistry* comms_ = nullptr;
  ActiveMessages active_;
  std::vector<const channel::Endpoint*> lost_;  // peers that are gone
  bool has_departures_ = false;                 // of whichever process
  /// Whom the last probe since for_each_awaited() that has found nothing was for.
  enum class ProbedFor : std::uint8_t { nobody, one, anybody };
  ProbedFor probed_for_ = ProbedFor::nobody;
  Identity probed_ = {};
  /// Contexts with their kinds of traffic, as in MatchKey; in rising order. A process never uses a
  /// number twice, so that they are kept for good; at most refused_max of them, the smallest
  /// (oldest) are forgotten.
  std::vector<std::uint32_t> refused_;
  StoredMessages stored_messages_;
};

}  // namespace hawser::p2p
